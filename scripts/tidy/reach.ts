// What is left over or goes round: import circles, files nobody reaches, exports nobody imports.

import path from 'node:path'
import { isTest, isTopFloor, type Problem } from './layers.ts'
import { resolveImport, type Source, type Tree } from './source.ts'

type Sources = ReadonlyMap<string, Source>

/** Files that are started and not imported, beyond tests and what package.json or .ci/run name. */
const ENTRIES: readonly { pattern: RegExp; why: string }[] = [
  { pattern: /^tests\/system\/[^/]+\.ts$/, why: 'tests/system.ts starts the one it is asked for by name' },
  { pattern: /^bench\/[^/]+\.ts$/, why: 'bench/bench.ts starts the one it is asked for by name' },
  { pattern: /^eval\/[^/]+\.ts$/, why: 'eval/eval.ts starts the one it is asked for by name' },
  {
    pattern: /^integrations\/typescript\/[^/]+\/(?:tests\/)?[^/]+\.ts$/,
    why: 'tests/system/adapters.ts installs the adapters it finds',
  },
  { pattern: /^scripts\/examples\.ts$/, why: 'started by hand when an answer changed; CONTRIBUTING.md' },
  { pattern: /^scripts\/meaning\.ts$/, why: 'started by hand when the analyser changed; docs/meaning.md' },
  { pattern: /^deploy\/otel\/otel\.ts$/, why: 'operators preload it with node --import' },
  { pattern: /^(?:daemon|management)\/program\.ts$/, why: 'start.cjs beside it loads it' },
  { pattern: /^console\/pages\/[^/]+\/page\.tsx$/, why: 'console/pages.ts finds every page by its folder' },
  { pattern: /\.d\.ts$/, why: 'declarations are read by the compiler' },
  { pattern: /\.config\.ts$/, why: 'read by the tool it configures' },
]

/** Names that are exported for people outside this repository. */
const PUBLISHED: readonly { pattern: RegExp; why: string }[] = [
  { pattern: /^integrations\/typescript\//, why: 'packages of their own; their callers have the framework' },
  { pattern: /^sdk\//, why: 'the client is published; its callers are not in this repository' },
  {
    pattern: /^libs\/capability\/capability\.ts$/,
    why: 'holders narrow, seal and verify with it; vectors.json is for them',
  },
  {
    pattern: /^console\/(?:format\.ts|api\/|parts\/|frame\/)/,
    why: 'the words that pages are written in; pages come one by one',
  },
  { pattern: /^console\/pages\/[^/]+\/page\.tsx$/, why: 'console/pages.ts finds every page by its folder' },
  { pattern: /\.config\.ts$/, why: 'read by the tool it configures' },
]

interface Planned {
  pattern: RegExp
  /** All of the file unless told otherwise. */
  names?: readonly string[]
  why: string
}

/** Product code that nothing uses yet. An entry goes when its feature comes; one that has come is reported. */
const PLANNED: readonly Planned[] = [
  { pattern: /^libs\/chassis\/body-stream\.ts$/, names: ['streamedBody'], why: 'projections, import and export' },
]

/**
 * One problem per knot of files, type-only imports included: they run, but nobody can read one file without the other.
 */
export function checkCircles(sources: Sources): Problem[] {
  const edges = new Map<string, Map<string, number>>()
  for (const source of sources.values()) {
    const targets = new Map<string, number>()
    for (const { specifier, line } of source.imports) {
      const target = resolveImport(source.path, specifier)
      if (target !== undefined && sources.has(target) && !targets.has(target)) targets.set(target, line)
    }
    edges.set(source.path, targets)
  }
  const problems: Problem[] = []
  const told = new Set<string>()
  for (const file of [...edges.keys()].sort()) {
    if (told.has(file)) continue
    const circle = shortestCircle(file, edges)
    if (!circle) continue
    for (const member of circle) told.add(member)
    const line = edges.get(file)?.get(circle[1] ?? file) ?? 1
    const text = `import circle ${[...circle, file].join(' -> ')}; move what both need into a file of its own`
    problems.push({ path: file, line, text })
  }
  return problems
}

function shortestCircle(start: string, edges: ReadonlyMap<string, ReadonlyMap<string, number>>): string[] | undefined {
  const cameFrom = new Map<string, string>()
  const queue = [start]
  for (const file of queue) {
    for (const next of edges.get(file)?.keys() ?? []) {
      if (next === start) return trail(start, file, cameFrom)
      if (cameFrom.has(next)) continue
      cameFrom.set(next, file)
      queue.push(next)
    }
  }
  return undefined
}

function trail(start: string, end: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const files = [end]
  for (let file = end; file !== start; files.unshift(file)) file = cameFrom.get(file) ?? start
  return files
}

export function checkDeadFiles(tree: Tree, sources: Sources, plan = PLANNED): Problem[] {
  const entries = [...sources.keys()].filter((file) => isEntry(file))
  for (const [file, text] of tree) {
    if (file === '.ci/run' || /(?:^|\/)package\.json$/.test(file)) entries.push(...filesNamedIn(file, text, sources))
  }
  const reached = reach(entries, sources, () => true)
  const served = reach(entries, sources, isUser)
  const problems: Problem[] = []
  for (const file of sources.keys()) {
    const planned = plan.some((entry) => entry.pattern.test(file) && entry.names === undefined)
    const report = (text: string) => problems.push({ path: file, line: 1, text })
    if (!reached.has(file)) report('nothing imports or runs this file; use it or delete it')
    else if (isUser(file) && !served.has(file) && !planned) report('only tests reach this file; use it or delete it')
    else if (served.has(file) && planned) report('is in use; take it out of PLANNED of scripts/tidy/reach.ts')
  }
  return problems
}

function reach(entries: readonly string[], sources: Sources, walks: (file: string) => boolean): Set<string> {
  const reached = new Set<string>()
  const queue = [...entries]
  for (const file of queue) {
    const source = sources.get(file)
    if (!source || reached.has(file) || !walks(file)) continue
    reached.add(file)
    for (const { specifier } of source.imports) queue.push(resolveImport(file, specifier) ?? '')
    for (const mention of source.fileMentions) queue.push(mention, path.posix.join(path.posix.dirname(file), mention))
  }
  return reached
}

/** What a test, a benchmark or an evaluation uses is not in use by that: they would keep dead code alive for ever. */
function isUser(file: string): boolean {
  return !isTest(file) && (!isTopFloor(file) || /^(?:scripts|deploy)\//.test(file))
}

function isEntry(file: string): boolean {
  return (
    /\.test\.tsx?$/.test(file) ||
    /(?:^|\/)main\.tsx?$/.test(file) ||
    /^sdk\//.test(file) ||
    ENTRIES.some(({ pattern }) => pattern.test(file))
  )
}

function filesNamedIn(file: string, text: string, sources: Sources): string[] {
  const scripts = file === '.ci/run' ? text : Object.values(JSON.parse(text).scripts ?? {}).join('\n')
  const names = scripts.match(/[\w./-]+\.tsx?\b/g) ?? []
  return names
    .map((name) => path.posix.join(path.posix.dirname(file), name))
    .concat(names)
    .filter((name) => sources.has(name))
}

/**
 * A name that only tests import is reported unless its own file uses it: a test may look at a part of what is in use.
 */
export function checkExports(sources: Sources): Problem[] {
  const used = importedNames([...sources.values()])
  const usedByProduct = importedNames([...sources.values()].filter((source) => isUser(source.path)))
  const problems: Problem[] = []
  for (const source of sources.values()) {
    if (PUBLISHED.some(({ pattern }) => pattern.test(source.path))) continue
    const planned = PLANNED.find(({ pattern }) => pattern.test(source.path))
    for (const { name, line } of source.exports) {
      const report = (text: string) => problems.push({ path: source.path, line, text })
      const has = (names: ReadonlySet<string> | undefined) => names?.has(name) || names?.has('*') || false
      const inUse = has(usedByProduct.get(source.path)) || usedAtHome(source, name)
      const isPlanned = planned !== undefined && (planned.names?.includes(name) ?? true)
      if (!has(used.get(source.path))) report(`nobody imports '${name}'; drop the export, or the code if it is unused`)
      else if (isUser(source.path) && !inUse && !isPlanned) report(`only tests use '${name}'; delete it, or use it`)
      else if (inUse && planned?.names?.includes(name))
        report(`'${name}' is in use; take it out of PLANNED of scripts/tidy/reach.ts`)
    }
  }
  return problems
}

function importedNames(sources: readonly Source[]): Map<string, Set<string>> {
  const used = new Map<string, Set<string>>()
  for (const source of sources) {
    for (const { specifier, names, everything } of source.imports) {
      const target = resolveImport(source.path, specifier)
      if (target === undefined) continue
      const set = used.get(target) ?? new Set()
      used.set(target, set)
      for (const { imported } of names) set.add(imported)
      if (everything) set.add('*')
    }
  }
  return used
}

function usedAtHome(source: Source, name: string): boolean {
  const found = source.code.match(new RegExp(`(?<![\\w$.])${name.replaceAll('$', '\\$')}(?![\\w$])`, 'g'))
  return (found?.length ?? 0) > 1
}
