// The programs of another commit, as they were: its files beside the packages of this checkout.

import { execFileSync } from 'node:child_process'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { linkModules } from './mutant.ts'
import type { ProgramName, Programs } from './process.ts'

export interface Release extends AsyncDisposable {
  root: string
  programs: Programs
}

const PROGRAMS: readonly ProgramName[] = ['daemon', 'management']
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 1024 ** 3 }).trim()
}

/**
 * The newest commit at which both programs know an older schema than they do now, made by the migrations that stand
 * now: one that was changed before anybody had it is no release. Undefined in a clone without the history.
 */
export function releaseBefore(): string | undefined {
  const added = (...paths: string[]) => git('log', '--format=%H', '--diff-filter=A', '--', ...paths).split('\n')
  const commits = PROGRAMS.map((program) => added(`${program}/migrations`)[0] as string)
  if (commits.some((commit) => commit === '')) return undefined
  const [one, other] = commits as [string, string]
  try {
    let release = git('rev-parse', '--verify', `${isAncestor(one, other) ? one : other}^`)
    for (;;) {
      const directories = PROGRAMS.map((program) => `${program}/migrations`)
      const changed = git('diff', '--name-only', '--diff-filter=MD', release, 'HEAD', '--', ...directories)
      if (changed === '') return release
      const [file = ''] = changed.split('\n')
      release = git('rev-parse', '--verify', `${added(file).at(-1)}^`)
    }
  } catch {
    return undefined
  }
}

function isAncestor(one: string, other: string): boolean {
  return git('merge-base', one, other) === one
}

export async function checkOut(revision: string): Promise<Release> {
  // The real path, because Node strips types by it.
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'loci-release-')))
  const archive = execFileSync('git', ['archive', '--format=tar', revision], { cwd: ROOT, maxBuffer: 1024 ** 3 })
  execFileSync('tar', ['-x', '-C', root], { input: archive })
  linkModules(root)
  // Its own process.ts starts what lies beside it.
  const programs = (await import(pathToFileURL(join(root, 'tests/world/process.ts')).href)) as Programs
  return {
    root,
    programs,
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true })
    },
  }
}
