// The bill of materials of both programs, the command line and the console: what the lockfile says that they need, each
// with its digest and licence. By hand: `npm sbom --omit=dev` (11.19) leaves out what a workspace needs for development
// as well, zod and jose among it. The client for Python and the adapters have theirs in their own metadata.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'

const WORKSPACES = ['daemon', 'management', 'console', 'cli']
/** Builds the console, and is not in what it builds. */
const TOOL = 'vite'

interface Entry {
  name?: string
  version: string
  license?: string
  integrity?: string
  link?: boolean
  resolved?: string
  dependencies?: { [name: string]: string }
  optionalDependencies?: { [name: string]: string }
  peerDependencies?: { [name: string]: string }
  peerDependenciesMeta?: { [name: string]: { optional?: boolean } }
}

interface Lock {
  version: string
  packages: { [place: string]: Entry }
}

/** CycloneDX, the same for two builds of a commit. */
export function billOfMaterials(top: string): string {
  const lock = JSON.parse(readFileSync(path.join(top, 'package-lock.json'), 'utf8')) as Lock
  const needed = new Map<string, string[]>()
  const ours = new Set<string>()
  const visit = (place: string) => {
    if (needed.has(place)) return
    const others = needsOf(lock, place)
    needed.set(place, others)
    if (!place.includes('node_modules/')) ours.add(place)
    for (const other of others) visit(other)
  }
  for (const name of WORKSPACES) visit(name)
  const foreign = [...needed.keys()].filter((place) => !ours.has(place)).sort()
  const reference = (place: string) => (ours.has(place) ? `loci/${place}` : purlOf(lock, place))
  const bill = {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: {
      component: {
        'bom-ref': 'loci',
        type: 'application',
        name: 'loci',
        version: lock.version,
        licenses: licence('Apache-2.0'),
      },
    },
    components: [
      ...[...ours].sort().map((place) => ({
        'bom-ref': reference(place),
        type: 'library',
        name: place,
        version: lock.version,
        licenses: licence('Apache-2.0'),
      })),
      ...foreign.map((place) => componentOf(lock, place)),
    ],
    dependencies: [
      { ref: 'loci', dependsOn: WORKSPACES.map(reference).sort() },
      ...[...needed].map(([place, others]) => ({
        ref: reference(place),
        dependsOn: [...new Set(others.map(reference))].sort(),
      })),
    ],
  }
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex')
  // The form of a UUID of a version that is anybody's own (RFC 9562, 8).
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `a${digest.slice(17, 20)}`]
  return `${JSON.stringify({ serialNumber: `urn:uuid:${[...parts, digest.slice(20, 32)].join('-')}`, ...bill }, undefined, 2)}\n`
}

function needsOf({ packages }: Lock, place: string): string[] {
  const entry = packages[place]
  if (!entry) throw new Error(`package-lock.json has no ${place}`)
  const wanted = Object.keys({ ...entry.dependencies, ...entry.optionalDependencies }).filter((name) => name !== TOOL)
  // A peer that is optional is there when somebody else brought it.
  const peers = Object.keys(entry.peerDependencies ?? {}).filter(
    (name) => !entry.peerDependenciesMeta?.[name]?.optional,
  )
  return [...wanted, ...peers].map((name) => {
    for (let from = place; ; from = from.includes('/') ? path.dirname(from) : '') {
      const found = path.join(from, 'node_modules', name)
      if (packages[found]) return packages[found].link ? (packages[found].resolved as string) : found
      if (from === '') throw new Error(`package-lock.json has no ${name}, which ${place} needs`)
    }
  })
}

function componentOf(lock: Lock, place: string): object {
  const { version, license = '', integrity = '' } = lock.packages[place] as Entry
  const [, digest = ''] = /^sha512-(\S+)$/.exec(integrity) ?? []
  if (!digest || !license) throw new Error(`${place} has no digest or no licence in package-lock.json`)
  return {
    'bom-ref': purlOf(lock, place),
    type: 'library',
    name: nameOf(place),
    version,
    purl: purlOf(lock, place),
    hashes: [{ alg: 'SHA-512', content: Buffer.from(digest, 'base64').toString('hex') }],
    licenses: licence(license),
  }
}

function licence(id: string): object[] {
  return /[ ()]/.test(id) ? [{ expression: id }] : [{ license: { id } }]
}

function nameOf(place: string): string {
  return place.slice(place.lastIndexOf('node_modules/') + 'node_modules/'.length)
}

function purlOf({ packages }: Lock, place: string): string {
  return `pkg:npm/${nameOf(place).replace('@', '%40')}@${packages[place]?.version}`
}
