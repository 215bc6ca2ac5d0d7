// A copy of the programs with a sabotage in it, in a temporary directory. A test that cannot tell it from the real
// thing proves nothing. Production code has no switch for this: the source text is what differs.

import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { schemaIn } from '@loci/postgres/migrations.ts'
import type { Programs } from './process.ts'

export interface Edit {
  file: string
  /** Must be in the file exactly once, or the sabotage no longer fits the code. */
  from: string
  to: string
}

export interface Mutant extends AsyncDisposable {
  root: string
  startProgram: Programs['startProgram']
  runCommand: Programs['runCommand']
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COPIED = ['package.json', 'libs', 'daemon', 'management', 'tests/package.json', 'tests/world/process.ts']

export async function plantMutant(edits: Edit[]): Promise<Mutant> {
  // The real path, because Node strips types by it.
  const root = join(realpathSync(mkdtempSync(join(tmpdir(), 'loci-mutant-'))))
  for (const path of COPIED) cpSync(join(ROOT, path), join(root, path), { recursive: true, verbatimSymlinks: true })
  linkModules(root)
  for (const { file, from, to } of edits) {
    const text = readFileSync(join(root, file), 'utf8')
    const [before, after, ...more] = text.split(from)
    if (before === undefined || after === undefined || more.length > 0)
      throw new Error(`the mutant of ${file} no longer applies: its text is not there exactly once:\n${from}`)
    writeFileSync(join(root, file), before + to + after)
  }
  for (const program of ['daemon', 'management']) carryDigest(root, program)
  // Its own process.ts starts what lies beside it.
  const { startProgram, runCommand } = (await import(
    pathToFileURL(join(root, 'tests/world/process.ts')).href
  )) as Programs
  return {
    root,
    startProgram,
    runCommand,
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** The newest migration of the copy carries the digest of its functions, sabotaged or not. */
export function carryDigest(root: string, program: string): void {
  const { migrations, functions } = schemaIn(join(root, program), join(root, 'libs/acts'))
  const newest = join(migrations, readdirSync(migrations).sort().at(-1) as string)
  const hash = createHash('sha256')
  for (const file of functions) hash.update(readFileSync(file))
  const text = readFileSync(newest, 'utf8')
  writeFileSync(newest, text.replace(/^-- functions: .*$/m, `-- functions: ${hash.digest('hex')}`))
}

/** Everybody else's packages as they are; ours from the copy. Where versions differ npm gives a workspace its own. */
export function linkModules(root: string): void {
  linkEach(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const ours = join(root, 'node_modules/@loci')
  mkdirSync(ours)
  for (const name of readdirSync(join(ROOT, 'node_modules/@loci'))) {
    const home = relative(realpathSync(ROOT), realpathSync(join(ROOT, 'node_modules/@loci', name)))
    symlinkSync(join(root, home), join(ours, name))
    const [own, copied] = [join(ROOT, home, 'node_modules'), join(root, home, 'node_modules')]
    if (existsSync(own) && existsSync(join(root, home)) && !existsSync(copied)) linkEach(own, copied)
  }
}

function linkEach(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from))
    if (name !== '@loci' && name !== '.bin') symlinkSync(join(from, name), join(to, name))
}
