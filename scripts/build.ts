// npm run build [-- sdk server cli] [--out DIR]: the published packages as folders and tarballs, in dist/ unless told.
// Development needs none of it: the workspaces run from their sources. The console alone runs from what is built:
// npm run build -- console [--watch] builds it into console/dist, from where management of the checkout serves it.
// npm run build -- adapters: those of integrations/typescript, into dist/adapters.
// npm run build -- wheels: the Python client and the adapters of integrations/python, into dist/wheels.
// npm run build -- materials: what the programs are made of (CycloneDX), into dist/loci.cdx.json.

import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { adaptersOf, buildAdapter } from './build/adapters.ts'
import { buildConsole, watchConsole } from './build/console.ts'
import { buildDeclarations } from './build/declarations.ts'
import { buildJavascript } from './build/javascript.ts'
import { billOfMaterials } from './build/materials.ts'
import { type Package, packagesOf } from './build/packages.ts'
import { buildWheels } from './build/wheels.ts'

const TOP = path.join(import.meta.dirname, '..')
const { values, positionals: asked } = parseArgs({
  options: { out: { type: 'string' }, watch: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const DIST = path.resolve(values.out ?? path.join(TOP, 'dist'))

/** No package of its own: management serves it. */
const CONSOLE = 'console'
/** Packages of their own, for people who have the framework: nothing here needs them. */
const ADAPTERS = 'adapters'
/** For people who write Python: nothing here needs them. */
const WHEELS = 'wheels'
const MATERIALS = 'materials'
const APART = [CONSOLE, ADAPTERS, WHEELS, MATERIALS]

interface Manifest {
  version: string
  license: string
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
}

const root = manifestOf('package.json')
const packages = packagesOf(TOP)
const unknown = asked.filter((name) => !APART.includes(name) && !packages.some(({ folder }) => folder === name))
if (unknown.length > 0) {
  console.error(
    `there is no package ${unknown.join(', ')}; these are: ${[...packages.map(({ folder }) => folder), ...APART].join(', ')}`,
  )
  process.exit(64)
}
if (asked.includes(CONSOLE)) {
  const folder = path.join(TOP, 'console/dist')
  if (values.watch) await watchConsole(TOP, folder)
  else await buildConsole(TOP, folder)
  console.log(`console/dist  ${kilobytes(sizeOf(folder))} with its compressed forms`)
}
if (asked.includes(ADAPTERS))
  for (const name of adaptersOf(TOP)) {
    const tarball = buildAdapter(TOP, name, path.join(DIST, ADAPTERS), common())
    console.log(`${path.relative(process.cwd(), tarball)}  ${kilobytes(statSync(tarball).size)} packed`)
  }
if (asked.includes(WHEELS))
  for (const file of buildWheels(TOP, path.join(DIST, WHEELS)))
    console.log(`${path.relative(process.cwd(), file)}  ${kilobytes(statSync(file).size)}`)
if (asked.includes(MATERIALS)) {
  mkdirSync(DIST, { recursive: true })
  writeFileSync(path.join(DIST, 'loci.cdx.json'), billOfMaterials(TOP))
}
for (const one of packages) {
  if (asked.length > 0 && !asked.includes(one.folder)) continue
  const tarball = await build(one)
  const [packed, unpacked] = [statSync(tarball).size, sizeOf(path.join(DIST, one.folder))]
  console.log(`${path.relative(process.cwd(), tarball)}  ${kilobytes(packed)} packed, ${kilobytes(unpacked)} unpacked`)
}

async function build(one: Package): Promise<string> {
  const folder = path.join(DIST, one.folder)
  rmSync(folder, { recursive: true, force: true })
  const { files, imported } = buildJavascript(TOP, one.roots)
  const write = (name: string, text: string) => {
    const place = path.join(folder, name)
    mkdirSync(path.dirname(place), { recursive: true })
    writeFileSync(place, text)
  }
  for (const [name, text] of files) write(name, text)
  if (one.typed) for (const [name, text] of buildDeclarations(TOP, one.roots)) write(name, text)
  for (const [name, text] of Object.entries(one.entries)) write(name, text)
  for (const name of tracked()) {
    if (!one.assets?.test(name) || files.has(name) || /\/testing\/|\/schema\.sql$|(?:^|\/)package\.json$/.test(name))
      continue
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    cpSync(path.join(TOP, name), path.join(folder, name))
  }
  if (one.folder === 'server') await buildConsole(TOP, path.join(folder, 'console/dist'))
  for (const name of ['LICENSE', 'NOTICE']) cpSync(path.join(TOP, name), path.join(folder, name))
  cpSync(path.join(TOP, one.readme), path.join(folder, 'README.md'))
  for (const file of Object.values(one.bin)) chmodSync(path.join(folder, file), 0o755)
  write('package.json', `${JSON.stringify(published(one, imported), undefined, 2)}\n`)
  const [{ filename }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--silent', '--pack-destination', DIST], { cwd: folder, encoding: 'utf8' }),
  ) as [{ filename: string }]
  return path.join(DIST, filename.replace('@', '').replace('/', '-'))
}

/** As it is published: exact versions of what it really imports. */
function published(one: Package, imported: ReadonlyMap<string, string>): object {
  const dependencies = [...imported].map(([name, workspace]) => [name, versionOf(name, workspace)] as const)
  const ours = one.needs.map((name) => [name, root.version] as const)
  const optional = one.folder === 'cli' ? (manifestOf('cli/package.json').optionalDependencies ?? {}) : {}
  const needed = [...dependencies, ...ours].filter(([name]) => !(name in optional))
  return {
    name: one.name,
    description: one.description,
    keywords: one.keywords,
    ...common(),
    repository: { type: 'git', url: 'git+https://github.com/locihq/loci.git', directory: one.folder },
    type: 'module',
    sideEffects: one.folder === 'sdk' ? false : undefined,
    engines: { node: one.engines },
    exports: one.exports,
    ...(Object.keys(one.bin).length > 0 ? { bin: one.bin } : {}),
    ...(needed.length > 0 ? { dependencies: Object.fromEntries(needed.sort()) } : {}),
    ...(Object.keys(optional).length > 0 ? { optionalDependencies: optional } : {}),
  }
}

/** What every published package says. */
function common(): object {
  return {
    version: root.version,
    license: root.license,
    author: 'The loci authors',
    homepage: 'https://github.com/locihq/loci#readme',
    bugs: 'https://github.com/locihq/loci/issues',
    // Published from a workflow that proves where it came from.
    publishConfig: { access: 'public', provenance: true },
  }
}

function versionOf(name: string, workspace: string): string {
  const { dependencies = {}, optionalDependencies = {} } = manifestOf(`${workspace}/package.json`)
  const version = dependencies[name] ?? optionalDependencies[name]
  if (version === undefined) throw new Error(`${workspace} imports ${name}, and its package.json does not have it`)
  return version
}

function manifestOf(file: string): Manifest {
  return JSON.parse(readFileSync(path.join(TOP, file), 'utf8'))
}

/** In a build of the image there is no git, and .dockerignore has left out what is not of the project. */
function tracked(): string[] {
  if (!existsSync(path.join(TOP, '.git')))
    return readdirSync(TOP, { recursive: true, encoding: 'utf8' }).filter(
      (name) => !/(?:^|\/)(?:node_modules|dist)\//.test(name),
    )
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
    cwd: TOP,
    encoding: 'utf8',
  })
  return listed.split('\n').filter(Boolean)
}

function sizeOf(folder: string): number {
  return Number(execFileSync('du', ['-sb', folder], { encoding: 'utf8' }).split('\t')[0])
}

function kilobytes(bytes: number): string {
  return `${Math.round(bytes / 1_000)} KB`
}
