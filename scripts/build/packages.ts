// What is published: three packages out of the workspaces.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { NODE_FLAGS } from '@loci/cli/up/programs.ts'

export interface Package {
  /** The folder in dist/, and the argument of the build. */
  folder: string
  name: string
  description: string
  keywords: string[]
  engines: string
  /** Where everything begins: what these reach is in the package. */
  roots: string[]
  /** Further files, by what their path ends in or is. */
  assets: RegExp | undefined
  /** Generated files that only hand on: by name, their text. The same text serves as types. */
  entries: Record<string, string>
  exports: Record<string, unknown>
  bin: Record<string, string>
  typed: boolean
  /** Packages of ours that it needs. */
  needs: string[]
  readme: string
}

const SDK_NAMES = `export { attenuate, delegate } from './sdk/attenuate.js'
export { LociError } from './sdk/error.js'
export { Service, Services } from './sdk/services.js'
export { User } from './sdk/user.js'
`
const SDK_TYPES = `export type { Delegation, Narrowing } from './sdk/attenuate.js'
export type { CapabilityStore, KeptCapability } from './sdk/capabilities.js'
export type { Client } from './sdk/client.js'
export type * from './sdk/daemon.js'
export type { LocalCode } from './sdk/error.js'
export type { FollowOptions, ServiceEvent } from './sdk/events.js'
export type { LociOptions } from './sdk/loci.js'
export type { ManagementOperations, Operation, TokenResponse } from './sdk/management.js'
export type { Page, Paged } from './sdk/pages.js'
export type { CreateService, Creating, Progress, ReadyOptions, ServiceInfo, ServiceQuery } from './sdk/services.js'
export type { Precondition } from './sdk/slots.js'
export type { Telemetry, TracerProvider } from './sdk/spans.js'
export type { Hit, Hits, Outcome } from './sdk/user.js'
`

const FAKE = "export { fakeLoci } from './sdk/fake/loci.js'\n"

const entry = (name: string) => ({ types: `./${name}.d.ts`, default: `./${name}.js` })

const SDK: Package = {
  folder: 'sdk',
  name: '@locihq/sdk',
  description: 'Memory for agents: the client of loci. Remember, recall with reasons, forget; for Node and browsers.',
  keywords: ['agent', 'memory', 'llm', 'recall', 'loci'],
  engines: '>=20.3.0',
  roots: ['sdk/node.ts', 'sdk/loci.ts', 'sdk/fake/loci.ts'],
  assets: undefined,
  entries: {
    'index.js': `export { Loci } from './sdk/loci.js'\n${SDK_NAMES}`,
    'index.d.ts': `export { Loci } from './sdk/loci.js'\n${SDK_NAMES}${SDK_TYPES}`,
    'testing.js': FAKE,
    'testing.d.ts': FAKE,
    'node.js': `export { Loci } from './sdk/node.js'\n${SDK_NAMES}`,
    'node.d.ts': `export { Loci } from './sdk/node.js'\nexport type { NodeLociOptions } from './sdk/node.js'\n${SDK_NAMES}${SDK_TYPES}`,
  },
  // Browsers get a client that knows neither environment nor files.
  exports: {
    '.': { node: entry('node'), default: entry('index') },
    './testing': entry('testing'),
    './package.json': './package.json',
  },
  bin: {},
  typed: true,
  needs: [],
  readme: 'sdk/README.md',
}

/** With the flags that bound its memory: an image and a chart start a program by its name alone. */
const BEGIN = `#!/usr/bin/env -S node ${NODE_FLAGS.join(' ')}\n`

const SERVER: Package = {
  folder: 'server',
  name: '@locihq/server',
  description: 'The two programs of loci, memory for agents on PostgreSQL: loci-management and loci-daemon.',
  keywords: ['agent', 'memory', 'postgresql', 'loci'],
  engines: '>=24.0.0',
  roots: ['daemon/start.cjs', 'management/start.cjs'],
  assets: /^(?:daemon|management|libs\/acts)\/.*\.(?:sql|bin|json)$/,
  entries: {
    'bin/loci-daemon.cjs': `${BEGIN}require('../daemon/start.cjs')\n`,
    'bin/loci-management.cjs': `${BEGIN}require('../management/start.cjs')\n`,
  },
  exports: {
    './daemon': './bin/loci-daemon.cjs',
    './management': './bin/loci-management.cjs',
    './package.json': './package.json',
  },
  bin: { 'loci-daemon': 'bin/loci-daemon.cjs', 'loci-management': 'bin/loci-management.cjs' },
  typed: false,
  needs: [],
  readme: 'scripts/build/server-readme.md',
}

/** The command line says in its own manifest where it begins (`bin`). */
function cliOf(top: string): Package | undefined {
  const file = path.join(top, 'cli/package.json')
  if (!existsSync(file)) return undefined
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as CliManifest
  const begins = manifest.bin?.loci?.replace(/^\.\//, '')
  if (begins === undefined) throw new Error('cli/package.json has no bin.loci, so nobody knows where it begins')
  return {
    folder: 'cli',
    name: '@locihq/cli',
    description: 'The command loci: a local loci by `loci up`, and everything that it can do.',
    keywords: ['agent', 'memory', 'cli', 'mcp', 'loci'],
    engines: manifest.engines?.node ?? '>=24.0.0',
    roots: [`cli/${begins}`],
    assets: /^cli\/(?!.*(?:package\.json|README\.md)$).*\.(?:json|sql|md|txt)$/,
    entries: {},
    exports: { './package.json': './package.json' },
    bin: { loci: `cli/${begins.replace(/\.ts$/, '.js')}` },
    typed: false,
    // What `loci up` starts; no other command loads it.
    needs: [SERVER.name],
    readme: 'cli/README.md',
  }
}

interface CliManifest {
  bin?: { loci?: string }
  engines?: { node?: string }
}

export function packagesOf(top: string): Package[] {
  const cli = cliOf(top)
  return [SDK, SERVER, ...(cli ? [cli] : [])]
}
