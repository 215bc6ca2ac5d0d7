// Which test files a change can reach: those that import what changed, directly or through others, start it by its
// path, or read it as data. A test that opens a whole daemon reaches every file of the daemon.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { readSources, resolveImport, type Tree } from './tidy/source.ts'

/** A change of one of these may change the outcome of any test. */
const EVERYTHING = /^(package(-lock)?\.json|tsconfig\.json|\.npmrc|\.nvmrc|\.ci\/.*|scripts\/test\.ts)$/
/** Files that are read by listing their folder, and the source that lists it. */
const LISTED: readonly { files: RegExp; readBy: string[] }[] = [
  { files: /^daemon\/.*\.sql$/, readBy: ['daemon/schema.ts'] },
  { files: /^management\/.*\.sql$/, readBy: ['management/schema.ts'] },
  { files: /^libs\/.*\.sql$/, readBy: ['daemon/schema.ts', 'management/schema.ts'] },
]

/** The files that differ from `base`, committed or not, new ones included. */
export function changedFiles(top: string, base: string): string[] {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: top, encoding: 'utf8' }).split('\n')
  const listed = [...git('diff', '--name-only', base), ...git('ls-files', '--others', '--exclude-standard')]
  return [...new Set(listed)].filter(Boolean).sort()
}

/** Where the change began: the last commit that the branch shares with origin's main, or the last commit. */
export function baseOf(top: string): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: top, encoding: 'utf8', stdio: 'pipe' }).trim()
  try {
    return git('merge-base', 'HEAD', 'origin/main')
  } catch {
    return 'HEAD'
  }
}

export function readTracked(top: string): Tree {
  const names = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.ts'], {
    cwd: top,
    encoding: 'utf8',
  })
  const files = names.split('\n').filter((name) => name && existsSync(path.join(top, name)))
  return new Map(files.map((name) => [name, readFileSync(path.join(top, name), 'utf8')]))
}

/** Of `tests`, those that the changed files can reach. */
export function reachedBy(changed: readonly string[], tree: Tree, tests: readonly string[]): string[] {
  if (changed.some((file) => EVERYTHING.test(file))) return [...tests]
  const users = usersOf(tree)
  const reached = new Set<string>()
  const open = changed.flatMap((file) => [file, ...readersOf(file, tree)])
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (reached.has(file)) continue
    reached.add(file)
    open.push(...(users.get(file) ?? []))
  }
  return tests.filter((file) => reached.has(file))
}

/** For each file, those that import it or name its path in a string. */
function usersOf(tree: Tree): Map<string, string[]> {
  const users = new Map<string, string[]>()
  for (const { path: file, imports, fileMentions } of readSources(tree).values()) {
    const named = fileMentions.flatMap((name) => [name, path.posix.join(path.posix.dirname(file), name)])
    const used = [...imports.map(({ specifier }) => resolveImport(file, specifier)), ...named]
    for (const target of new Set(used)) {
      if (target !== undefined && target !== file && tree.has(target))
        users.set(target, [...(users.get(target) ?? []), file])
    }
  }
  return users
}

/** Sources that read the file as data: those that list its folder, else those that say its name. */
function readersOf(file: string, tree: Tree): string[] {
  if (file.endsWith('.ts')) return []
  const listing = LISTED.filter(({ files }) => files.test(file)).flatMap(({ readBy }) => readBy)
  if (listing.length > 0) return listing
  const name = path.posix.basename(file)
  return [...tree].filter(([, text]) => text.includes(name)).map(([source]) => source)
}
