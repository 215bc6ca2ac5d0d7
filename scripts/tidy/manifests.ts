// package.json against the imports, those of style sheets too: what is used is declared, our own packages included,
// what is declared is used, versions are exact, each package says its licence, and each package in the lockfile has a
// digest.

import { isBuiltin } from 'node:module'
import { isTest, isTopFloor, type Problem, packageOf } from './layers.ts'
import { lineAt, type Source, type Tree } from './source.ts'

type Manifest = Partial<Record<Kind | 'scripts', Record<string, string>>> & { name?: string; license?: string }
type Kind = 'dependencies' | 'devDependencies' | 'optionalDependencies' | 'peerDependencies'

/** Run as commands by scripts/check.ts, never imported. */
const ROOT_TOOLS = new Set(['@biomejs/biome', '@redocly/cli', 'typescript'])

export function checkDependencies(tree: Tree, sources: ReadonlyMap<string, Source>): Problem[] {
  const manifests = readManifests(tree)
  const root = manifests.get('') ?? {}
  const problems: Problem[] = []
  const imported = new Map<string, Set<string>>()
  for (const source of sources.values()) {
    const home = manifests.has(packageOf(source.path)) ? packageOf(source.path) : ''
    const own = manifests.get(home) ?? {}
    for (const { specifier, line, typeOnly } of source.imports) {
      const name = npmName(specifier)
      if (name === undefined || name === own.name) continue
      const forTests = isTopFloor(source.path) || isTest(source.path)
      // The root's devDependencies are the test tools of every package, so that fast-check is declared once.
      const declared =
        declares(own, name, forTests || typeOnly) ||
        declares(own, `@types/${name}`, typeOnly) ||
        (forTests && declares(root, name, true))
      for (const place of forTests ? [home, ''] : [home]) {
        imported.set(place, (imported.get(place) ?? new Set()).add(name))
      }
      if (declared) continue
      const manifest = home === '' ? 'package.json' : `${home}/package.json`
      const kind = forTests || typeOnly ? 'devDependencies' : 'dependencies'
      problems.push({
        path: source.path,
        line,
        text: `imports '${name}', which ${manifest} does not have in its ${kind}`,
      })
    }
  }
  for (const [file, text] of tree) {
    const home = packageOf(file)
    if (!file.endsWith('.css') || !manifests.has(home)) continue
    for (const [, specifier = ''] of text.matchAll(/url\("([^"]+)"\)/g)) {
      const name = npmName(specifier)
      if (name !== undefined) imported.set(home, (imported.get(home) ?? new Set()).add(name))
    }
  }
  for (const [home, manifest] of manifests) {
    const file = home === '' ? 'package.json' : `${home}/package.json`
    const scripts = Object.values(manifest.scripts ?? {}).join('\n')
    for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies })) {
      const exempt = name.startsWith('@types/') || scripts.includes(name)
      if (exempt || (home === '' && ROOT_TOOLS.has(name)) || imported.get(home)?.has(name)) continue
      problems.push({ path: file, line: lineOf(tree, file, name), text: `nothing imports '${name}'; remove it` })
    }
  }
  return problems
}

/** A range would make two installs of one commit differ. Peers are a promise to others and may be ranges. */
export function checkVersions(tree: Tree): Problem[] {
  const problems: Problem[] = []
  for (const [home, manifest] of readManifests(tree)) {
    const file = home === '' ? 'package.json' : `${home}/package.json`
    for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies'] as const) {
      for (const [name, version] of Object.entries(manifest[kind] ?? {})) {
        if (name.startsWith('@loci/') && version === '*') continue
        if (/^(?:npm:@?[\w./-]+@)?\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version)) continue
        const text = `'${name}' is '${version}'; write one exact version, as in 1.2.3`
        problems.push({ path: file, line: lineOf(tree, file, name), text })
      }
    }
  }
  return problems
}

/** Without one nobody may use the package; with two different ones nobody knows what he may do. */
export function checkLicences(tree: Tree): Problem[] {
  const problems: Problem[] = []
  for (const [home, manifest] of readManifests(tree)) {
    const file = home === '' ? 'package.json' : `${home}/package.json`
    if (manifest.license !== 'Apache-2.0')
      problems.push({ path: file, line: lineOf(tree, file, 'license'), text: 'says no "license": "Apache-2.0"' })
  }
  return problems
}

interface Lockfile {
  packages?: Record<string, { integrity?: string; resolved?: string; link?: boolean }>
}

const RELOCK = 'remove package-lock.json and node_modules, then: npm install --package-lock-only'

/**
 * npm leaves the digest out when it writes the file beside a filled node_modules, and then installs whatever has the
 * name and version. The host is left out on purpose (.npmrc): a lockfile that names one sends every machine there.
 */
export function checkLockfile(tree: Tree): Problem[] {
  const problems: Problem[] = []
  for (const [file, text] of tree) {
    if (!/(?:^|\/)package-lock\.json$/.test(file)) continue
    for (const [place, entry] of Object.entries((JSON.parse(text) as Lockfile).packages ?? {})) {
      const { integrity, resolved, link } = entry
      const report = (problem: string) => problems.push({ path: file, line: lineOf(tree, file, place), text: problem })
      if (!place.includes('node_modules/') || link) continue
      if (!/^sha512-[A-Za-z0-9+/]{86}==$/.test(integrity ?? '')) report(`'${place}' has no sha512 digest; ${RELOCK}`)
      if (resolved !== undefined) report(`'${place}' names where it came from; ${RELOCK}`)
    }
  }
  return problems
}

function readManifests(tree: Tree): Map<string, Manifest> {
  const manifests = new Map<string, Manifest>()
  for (const [file, text] of tree) {
    if (/^(?:(?:(?:libs|deploy|examples|integrations\/typescript)\/)?[^/]+\/)?package\.json$/.test(file))
      manifests.set(file.replace(/\/?package\.json$/, ''), JSON.parse(text))
  }
  return manifests
}

function npmName(specifier: string): string | undefined {
  if (/^[./]|^[a-z]+:/.test(specifier) || isBuiltin(specifier)) return undefined
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function declares(manifest: Manifest, name: string, orForDevelopment: boolean): boolean {
  const runtime = [manifest.dependencies, manifest.optionalDependencies, manifest.peerDependencies]
  return [...runtime, orForDevelopment ? manifest.devDependencies : undefined].some(
    (group) => group?.[name] !== undefined,
  )
}

function lineOf(tree: Tree, file: string, name: string): number {
  const text = tree.get(file) ?? ''
  return lineAt(text, Math.max(0, text.indexOf(`"${name}"`)))
}
