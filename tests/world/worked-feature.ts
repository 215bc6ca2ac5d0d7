// The worked feature of CONTRIBUTING.md, made in a copy of the tree exactly as the document says: a block of code with
// `file=…` is a new file, one with `in=… before="…"` stands in a file that is there, before the one line with that
// text.

import { execFileSync } from 'node:child_process'
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
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { carryDigest, linkModules } from './mutant.ts'
import { type Ended, runToEnd } from './to-end.ts'

export interface Block {
  /** Where it goes. */
  file: string
  /** Of a file that is there: the text of the line that it stands before. */
  before: string | undefined
  code: string
}

/** The longest takes 20 s on two idle cores; `npm run check` has its own bound for each of its stages. */
const RUN_MS_MAX = 1_200_000

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FENCE = /^```\w+ (?:file=(\S+)|in=(\S+) before="(.*)")\n([\s\S]*?)^```$/gm

export function readBlocks(): Block[] {
  const text = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8')
  return [...text.matchAll(FENCE)].map(([, file, inFile, before, code = '']) => ({
    file: (file ?? inFile) as string,
    before,
    code,
  }))
}

export interface FeatureCopy extends AsyncDisposable {
  /** Resolves with the exit code and all that was printed. */
  run(...args: string[]): Promise<Ended>
}

export async function copyWith(blocks: Block[]): Promise<FeatureCopy> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'loci-feature-')))
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, encoding: 'utf8' })
  for (const file of listed.split('\0'))
    if (existsSync(join(ROOT, file)) && file) cpSync(join(ROOT, file), join(root, file), { verbatimSymlinks: true })
  linkModules(root)
  symlinkSync(join(ROOT, 'node_modules/.bin'), join(root, 'node_modules/.bin'))
  // tidy asks git what belongs to the tree.
  execFileSync('git', ['init', '--quiet'], { cwd: root })
  for (const block of blocks) write(root, numbered(root, block))
  // `npm run check` prints the digest that the document leaves open.
  carryDigest(root, 'daemon')
  return {
    run: (...args) => runToEnd([process.execPath, ...args], { cwd: root, withinMs: RUN_MS_MAX }),
    async [Symbol.asyncDispose]() {
      rmSync(root, { recursive: true, force: true })
    },
  }
}

/** The document says `NNNN`: which number is the next one changes with every migration. */
function numbered(root: string, block: Block): Block {
  if (!block.file.includes('NNNN')) return block
  const last = readdirSync(join(root, dirname(block.file))).length
  const pad = (number: number) => String(number).padStart(4, '0')
  const code = block.code.replace('<number of the oldest migration whose code still works>', pad(last))
  return { ...block, file: block.file.replace('NNNN', pad(last + 1)), code }
}

function write(root: string, { file, before, code }: Block): void {
  const path = join(root, file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, before === undefined ? code : inserted(readFileSync(path, 'utf8'), { file, before, code }))
}

function inserted(text: string, { file, before, code }: Block & { before: string }): string {
  const lines = text.split('\n')
  const at = lines.findIndex((line) => line.includes(before))
  if (at === -1 || lines.findLastIndex((line) => line.includes(before)) !== at)
    throw new Error(`CONTRIBUTING.md: '${before}' is not in one line of ${file}`)
  return lines.toSpliced(at, 0, code.trimEnd()).join('\n')
}
