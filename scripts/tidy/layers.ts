// Who may import whom: floors between packages, edges between features, and the few things only one place may do.

import { balanced, lineAt, resolveImport, type Source } from './source.ts'

export type Problem = { path: string; line: number; text: string }
type Sources = ReadonlyMap<string, Source>

const FLOORS: Readonly<Record<string, number>> = {
  'libs/contract': 0,
  'libs/meter': 0,
  'libs/capability': 1,
  'libs/postgres': 1,
  'libs/chassis': 1,
  'libs/acts': 2,
  sdk: 2,
  daemon: 3,
  management: 3,
  console: 3,
  cli: 3,
  tests: 4,
  // Above tests, because they start the same world of real processes (tests/world).
  bench: 5,
  eval: 5,
  scripts: 5,
  // Preloaded by an operator into a program that knows nothing of it; it is installed by itself.
  'deploy/otel': 5,
  // What a user writes: it has the published client, and nothing of ours.
  'examples/support-agent': 5,
  // For who has the framework: the published client, and nothing of ours.
  'integrations/typescript/ai-sdk': 5,
  'integrations/typescript/langgraph': 5,
  'integrations/typescript/mastra': 5,
  'integrations/typescript/openai-agents': 5,
}

/** What a package may import where its floor alone would let it have more. */
const ONLY: Readonly<Record<string, readonly string[]>> = {
  // It runs in browsers and with customers: no database, no server.
  sdk: ['libs/contract', 'libs/capability'],
  // It starts the programs and talks to them over HTTP.
  cli: ['libs/contract', 'libs/capability', 'libs/chassis', 'libs/postgres', 'sdk'],
  // A page of ours in a browser: what it knows it asks for, as anybody's client does.
  console: ['libs/contract', 'sdk'],
  'deploy/otel': [],
  'examples/support-agent': [],
  'integrations/typescript/ai-sdk': [],
  'integrations/typescript/langgraph': [],
  'integrations/typescript/mastra': [],
  'integrations/typescript/openai-agents': [],
}

type Edges = Readonly<Record<string, readonly string[]>>

/**
 * Edges between features of one program: few, acyclic, each one a decision, and each one used. Calls between the
 * functions.sql of features are not among them.
 */
const FEATURE_EDGES: Edges = {
  // advice -> memory: an intent is read by the analyser of records.
  daemon: ['advice -> memory', 'cycles -> memory', 'cycles -> working-memory', 'projections -> memory'],
  management: [
    'api-keys -> oauth',
    'api-keys -> tenants',
    'api-keys -> tokens',
    'billing -> provisioning',
    'cells -> provisioning',
    'cells -> tokens',
    'console -> sessions',
    'oauth -> services',
    'oauth -> tokens',
    'organizations -> api-keys',
    'organizations -> tenants',
    'proxy -> services',
    'proxy -> tokens',
    'services -> provisioning',
    'sessions -> api-keys',
    'sessions -> oauth',
    'sessions -> organizations',
    'tokens -> services',
    'usage -> services',
  ],
}

/** Folders that every feature may import, and that import no feature: who asks, and what every act stands on. */
const GROUND: Readonly<Record<string, ReadonlySet<string>>> = {
  daemon: new Set(['access', 'databases', 'events', 'idempotency']),
  management: new Set(['access', 'acts']),
}

/** Folders above the features, as app.ts is: they may import each of them, and none of them imports such a folder. */
const ABOVE_FEATURES = new Set(['commands', 'retention'])

export function checkFloors(sources: Sources): Problem[] {
  const problems: Problem[] = []
  for (const source of sources.values()) {
    const from = packageOf(source.path)
    const floor = FLOORS[from]
    if (floor === undefined) {
      const text = `'${from}' has no floor; move the file into a package or give the new package a floor in scripts/tidy/layers.ts`
      problems.push({ path: source.path, line: 1, text })
      continue
    }
    for (const { specifier, line } of source.imports) {
      const target = resolveImport(source.path, specifier)
      if (target === undefined) continue
      const to = packageOf(target)
      const report = (text: string) => problems.push({ path: source.path, line, text })
      if (to === from) {
        if (specifier.startsWith('@loci/')) report(`imports its own package as '${specifier}'; use a relative path`)
      } else if (specifier.startsWith('.')) {
        report(`'${specifier}' leaves the package; import it as @loci/${to.replace('libs/', '')}/<file>.ts`)
      } else if (FLOORS[to] === undefined) {
        report(`'${specifier}' is no package of this repository; the packages are ${Object.keys(FLOORS).join(', ')}`)
      } else if (!/^@loci\/[^/]+\/.+\.tsx?$/.test(specifier)) {
        report(`'${specifier}' names no file; import @loci/<package>/<file>.ts`)
      } else if (FLOORS[to] >= floor) {
        report(`${from} (floor ${floor}) imports ${to} (floor ${FLOORS[to]}); move the shared part to a lower floor`)
      } else if (ONLY[from]?.includes(to) === false) {
        report(`${from} may import ${ONLY[from].join(' and ')} only; move the shared part there`)
      }
    }
  }
  return problems
}

export function checkFeatures(sources: Sources, decided: Edges = FEATURE_EDGES): Problem[] {
  const problems: Problem[] = []
  const used = new Set<string>()
  for (const source of sources.values()) {
    const program = packageOf(source.path)
    const edges = decided[program]
    if (!edges || isTest(source.path)) continue
    const folder = folderOf(source.path)
    for (const { specifier, line } of source.imports) {
      const target = resolveImport(source.path, specifier)
      if (target === undefined || packageOf(target) !== program) continue
      const report = (text: string) => problems.push({ path: source.path, line, text })
      const other = folderOf(target)
      if (folder !== undefined && /^[^/]+\/(?:app|main|program)\.ts$/.test(target)) {
        report(`a feature imports ${target}; let app.ts hand the feature what it needs`)
      }
      used.add(`${program}: ${folder} -> ${other}`)
      if (other === undefined || other === folder || GROUND[program]?.has(other)) continue
      if (target.endsWith('/routes.ts') && source.path !== `${program}/app.ts`) {
        report(
          `only ${program}/app.ts and tests import ${target}; import the noun's own file, or move it out of routes.ts`,
        )
      } else if (folder !== undefined && !ABOVE_FEATURES.has(folder) && !edges.includes(`${folder} -> ${other}`)) {
        report(
          `feature '${folder}' imports feature '${other}'; let app.ts hand it over, or decide the edge in FEATURE_EDGES`,
        )
      }
    }
  }
  for (const [program, edges] of Object.entries(decided)) {
    for (const edge of edges) {
      if (used.has(`${program}: ${edge}`)) continue
      const text = `no import follows the edge '${edge}' of ${program}; take it out of FEATURE_EDGES`
      problems.push({ path: 'scripts/tidy/layers.ts', line: 1, text })
    }
  }
  return problems
}

/**
 * The arrows between the rooms of a program: a room is a folder or a file at its top. Tests and testing/ are in no
 * room.
 */
export function roomEdges(sources: Sources, program: string): Map<string, Set<string>> {
  const edges = new Map<string, Set<string>>()
  for (const source of sources.values()) {
    if (packageOf(source.path) !== program || isTest(source.path)) continue
    for (const { specifier } of source.imports) {
      const target = resolveImport(source.path, specifier)
      if (target === undefined || packageOf(target) !== program || !sources.has(target)) continue
      const [from, to] = [source.path.split('/')[1] ?? '', target.split('/')[1] ?? '']
      if (from !== to) edges.set(from, (edges.get(from) ?? new Set()).add(to))
    }
  }
  return edges
}

/**
 * More arrows than this, and a program cannot be drawn on a page any more. A new feature that needs more raises it; the
 * worked feature of CONTRIBUTING.md takes three.
 */
const ROOM_EDGES_MAX: Readonly<Record<string, number>> = { daemon: 57, management: 103 }

export function checkRoomEdges(sources: Sources, maxima = ROOM_EDGES_MAX): Problem[] {
  return Object.entries(maxima).flatMap(([program, max]) => {
    const count = [...roomEdges(sources, program).values()].reduce((sum, to) => sum + to.size, 0)
    const text = `${count} import edges between rooms, at most ${max}; --rooms shows them`
    return count > max ? [{ path: `${program}/app.ts`, line: 1, text }] : []
  })
}

/**
 * Each program is built in floors: two rooms that need each other are one room, or share something that belongs below
 * both.
 */
export function checkRoomCircles(sources: Sources, programs: readonly string[] = ['daemon', 'management']): Problem[] {
  return programs.flatMap((program) => {
    const edges = roomEdges(sources, program)
    const rest = new Map([...edges].map(([from, to]) => [from, new Set([...to].filter((room) => edges.has(room)))]))
    for (let found = true; found; ) {
      found = false
      for (const [from, to] of rest) {
        if (to.size > 0) continue
        rest.delete(from)
        for (const others of rest.values()) others.delete(from)
        found = true
      }
    }
    if (rest.size === 0) return []
    const text = `the rooms ${[...rest.keys()].sort().join(', ')} import each other in a circle; move what both need below both`
    return [{ path: `${program}/app.ts`, line: 1, text }]
  })
}

/** `testing/` holds what tests, benchmarks and development share; a program that runs in production has none of it. */
export function checkTesting(sources: Sources): Problem[] {
  const problems: Problem[] = []
  for (const source of sources.values()) {
    if (isTest(source.path) || isTopFloor(source.path)) continue
    for (const { specifier, line } of source.imports) {
      const target = resolveImport(source.path, specifier)
      if (target === undefined || !isTest(target)) continue
      const text = `product code imports ${target}, which is for tests; move what both need out of testing/`
      problems.push({ path: source.path, line, text })
    }
  }
  return problems
}

/** They find the test server and its programs; no program of ours imports them. */
const ENVIRONMENT_OF_TESTS = new Set(['libs/postgres/testing/database.ts', 'libs/postgres/testing/throwaway.ts'])

/** `new Loci()` in Node; browsers get another file. */
const ENVIRONMENT_OF_CLIENTS = 'sdk/node.ts'

const READS_ENV = 'reads process.env; read it in program.ts and hand the value down'

/** Settings are read in one place per program, so that `program.ts` is the whole list of them. */
export function checkEnvironment(sources: Sources): Problem[] {
  const allowed = (file: string) =>
    (FLOORS[packageOf(file)] ?? 0) >= 4 ||
    isTest(file) ||
    /^(?:(?:libs\/)?[^/]+\/main|(?:daemon|management)\/program)\.ts$/.test(file) ||
    file === ENVIRONMENT_OF_CLIENTS ||
    ENVIRONMENT_OF_TESTS.has(file)
  return scan(sources, allowed, /(?<![\w$.])(?:globalThis\s*\.\s*)?process\s*\.\s*env\b/g, READS_ENV)
}

/** What listens is made in one place, or one day a second way past access, limits and log is open. */
export function checkServers(sources: Sources): Problem[] {
  const problems: Problem[] = []
  for (const source of sources.values()) {
    if (packageOf(source.path) === 'libs/chassis' || isTopFloor(source.path) || isTest(source.path)) continue
    for (const { specifier, names, line } of source.imports) {
      const isFramework = /^(?:fastify|@fastify|express|koa|hono)(?:\/|$)/.test(specifier)
      const isServer =
        /^node:(?:http|https|http2)$/.test(specifier) &&
        names.some(({ imported }) => /^create(?:Secure)?Server$/.test(imported))
      if (!isFramework && !isServer) continue
      const text = `makes a server from '${specifier}'; only libs/chassis listens, use its route()`
      problems.push({ path: source.path, line, text })
    }
  }
  return problems
}

const RUNS_SQL = "runs SQL; move the statement into the feature's store.ts as a named function"

/** All SQL of a feature stands in its store.ts. The sdk is let off: it has no database, `.query(` there is a URL's. */
export function checkSql(sources: Sources): Problem[] {
  const allowed = (file: string) => {
    const home = packageOf(file)
    return (
      home === 'libs/postgres' ||
      home === 'sdk' ||
      (FLOORS[home] ?? 0) >= 4 ||
      isTest(file) ||
      /\/store\.ts$|\/migrations\//.test(file)
    )
  }
  return scan(sources, allowed, /\.\s*query\s*(?:<[^()]*>)?\s*\(/g, RUNS_SQL)
}

const LOCKED_TABLES = 'cells|tenants|services|organizations'
const LOCKS_HOME = 'management/acts/locks/store.ts'
const LOCKS_ROW = new RegExp(`\\bfrom loci\\.(${LOCKED_TABLES})\\b[^;]*?\\bfor (?:no key )?(?:update|share)\\b`)

/** The rows that several features of management lock are locked in one store, which knows the order. */
export function checkLocks(sources: Sources): Problem[] {
  const problems: Problem[] = []
  for (const { path, text, strings } of sources.values()) {
    if (packageOf(path) !== 'management' || isTest(path) || path === LOCKS_HOME) continue
    for (const { start, end } of strings) {
      const table = LOCKS_ROW.exec(text.slice(start, end))?.[1]
      if (table === undefined) continue
      const problem = `locks rows of loci.${table}; ${LOCKS_HOME} does that, in the order that all keep`
      problems.push({ path, line: lineAt(text, start), text: problem })
    }
  }
  return problems
}

/**
 * A connection that waits for somebody else's server is a connection nobody can use, and a lock nobody can take.
 * Seen only where the call stands in the callback's own text; one hidden behind a function is for the reviewer.
 */
export function checkTransactions(sources: Sources): Problem[] {
  const problems: Problem[] = []
  for (const source of sources.values()) {
    const outbound = outboundCalls(source)
    for (const match of source.code.matchAll(/(?<!function\s+)(?<![\w$])transaction\s*(?:<[^()]*>)?\s*\(/g)) {
      const open = match.index + match[0].length - 1
      const inside = balanced(source.code, open)
      for (const call of inside.matchAll(outbound)) {
        const text = `calls ${call[0].replace(/\s*[.(]$/, '')} inside a transaction; commit first, then call`
        problems.push({ path: source.path, line: lineAt(source.code, open + 1 + call.index), text })
      }
    }
  }
  return problems
}

const HTTP_MODULES = /^(?:undici|(?:node:)?https?|(?:node:)?http2)$/

function outboundCalls(source: Source): RegExp {
  const names = ['(?:globalThis\\s*\\.\\s*)?fetch', 'setTimeout']
  for (const { specifier, typeOnly, names: imported } of source.imports) {
    if (typeOnly) continue
    const fileName = specifier.split('/').at(-1) ?? ''
    const leaves =
      HTTP_MODULES.test(specifier) ||
      /^(?:node:)?timers\/promises$/.test(specifier) ||
      specifier.startsWith('@loci/sdk/') ||
      (specifier.endsWith('.ts') && fileName.includes('client'))
    if (leaves) names.push(...imported.flatMap(({ local }) => (local ? [local.replaceAll('$', '\\$')] : [])))
  }
  return new RegExp(`(?<![\\w$.])(?:${names.join('|')})\\s*[.(]`, 'g')
}

export function packageOf(file: string): string {
  const [first = '', second = ''] = file.split('/')
  if (first === 'integrations') return file.split('/').slice(0, 3).join('/')
  return ['libs', 'deploy', 'examples'].includes(first) ? `${first}/${second}` : first
}

/** A test, or what tests share: `testing/tcp-proxy.ts`. */
export function isTest(file: string): boolean {
  return /\.test\.tsx?$|\/testing\//.test(file)
}

export function isTopFloor(file: string): boolean {
  return (FLOORS[packageOf(file)] ?? 0) >= 4
}

function folderOf(file: string): string | undefined {
  const parts = file.split('/')
  return parts.length > 2 ? parts[1] : undefined
}

function scan(sources: Sources, allowed: (file: string) => boolean, pattern: RegExp, text: string): Problem[] {
  const problems: Problem[] = []
  for (const source of sources.values()) {
    if (allowed(source.path)) continue
    for (const match of source.code.matchAll(pattern)) {
      problems.push({ path: source.path, line: lineAt(source.code, match.index), text })
    }
  }
  return problems
}
