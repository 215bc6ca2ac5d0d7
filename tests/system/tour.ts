// What README.md, docs/tour.md and docs/people.md give a newcomer to paste works, against what `npm run dev` starts.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { shellOf } from '../world/blocks.ts'
import { type Report, reportOn } from '../world/report.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** What the tour shows being refused, in its order. */
const REFUSED = ['VERSION_CONFLICT', 'VALIDATION_ERROR', 'OPERATION_NOT_ALLOWED']

const REFUSED_OF_PEOPLE = ['VALIDATION_ERROR', 'DATABASE_MISMATCH', 'DATABASE_MISMATCH']

/** What the recalls of docs/people.md find, in their order; the last one is after the deletion. */
const APART = 'peanuts; peanuts; kitchen; peanuts; kitchen; '

/** What the parts of the tour answer: a recall and one that abstains, slots, a cycle, advice, tools, a person. */
const SHOWN = [
  /"results":\[\{[^\]]*"content":"Ada prefers replies in Dutch"/,
  /"results":\[\][^\n]*"abstained":true/,
  /"slots":\[\{[^\n]*"answer Ada"/,
  /"decisions":\[/,
  /"toolId":"refund"/,
  /"tools":\[\{[^\n]*"inputSchema"/,
  /"results":\[\{[^\]]*"content":"Ben plays chess"/,
]

await reportOn(async (report) => {
  await firstLines(report)
  await using dev = await startDev()
  const text = shellOf('docs/tour.md')
  const tour = await paste(dev.shell, text)
  report.promise('the tour works, and refuses what it says', tour.ended === `0 ${REFUSED}`, tour.ended)
  const shown = SHOWN.filter((answer) => !answer.test(tour.output))
  report.promise(
    'each part of the tour shows what it says',
    shown.length === 0,
    shown.join(' ') || `${SHOWN.length} answers`,
  )
  if (tour.ended !== `0 ${REFUSED}`) report.note(tour.output)
  const people = await paste(dev.shell, shellOf('docs/people.md'))
  const apart = recalledIn(people.output)
  const isApart = people.ended === `0 ${REFUSED_OF_PEOPLE}` && apart === APART
  report.promise(
    'people are kept apart, and one is forgotten, as docs/people.md says',
    isApart,
    `${people.ended}, recalled ${apart}`,
  )
  if (!isApart) report.note(people.output)
  const renamed = await paste(dev.shell, text.replaceAll('my-first', 'again').replace('ttl_seconds', 'ttl_secs'))
  report.mutant('a field that was renamed', renamed.ended === tour.ended ? undefined : renamed.ended)
})

/** Of each answer to a recall the words of the story that are in it. */
function recalledIn(output: string): string {
  const answers = output.match(/\{"results":.*?"tookMs":/g) ?? []
  const words = ['peanuts', 'shellfish', 'kitchen']
  return answers.map((answer) => words.filter((word) => answer.includes(word)).join(' ')).join('; ')
}

/**
 * README.md, docs/up.md, cli/README.md and docs/import.md: `loci` of this checkout, with a home and ports of its own.
 */
async function firstLines(report: Report): Promise<void> {
  const home = mkdtempSync(path.join(tmpdir(), 'loci-tour-'))
  // PostgreSQL is not started as root: its user must come there.
  chmodSync(home, 0o755)
  const port = await freePort()
  const env = {
    ...process.env,
    HOME: home,
    LOCI_UP_DATA: path.join(home, 'data'),
    XDG_CONFIG_HOME: path.join(home, 'config'),
  }
  // The modules are there; 4400 may be somebody's.
  const begins = `set -eu -o pipefail\nloci() { node cli/main.ts "$@"; }\n`
  const texts: [string, string][] = [
    ['README.md', `${shellOf('README.md', 'Ten lines to a memory').replace(/^npm ci$/m, '')}\nloci down`],
    ['docs/up.md', shellOf('docs/up.md')],
    ['cli/README.md', shellOf('cli/README.md')],
    ['docs/import.md', `${shellOf('docs/import.md')}\nloci down`],
  ]
  try {
    for (const [file, text] of texts) {
      const here = text.replace(/up -d$/m, `up -d --port ${port}`)
      const { code, output } = await run('bash', ['-c', begins + here], env)
      const isRecalled =
        /^ *1 +\S+ +Ada prefers replies in Dutch/m.test(output) && /^ +covers .*\n +[\d.]+ = /m.test(output)
      report.promise(
        `the lines of ${file} lead to a recalled memory with why`,
        code === 0 && here !== text && isRecalled,
        code === 0 && isRecalled ? 'recalled' : `${code}: ${output.slice(-600)}`,
      )
    }
  } finally {
    await run(process.execPath, ['cli/main.ts', 'down'], env)
    rmSync(home, { recursive: true, force: true })
  }
}

interface Dev extends AsyncDisposable {
  /** The file with the variables that the documents use. */
  shell: string
}

async function startDev(): Promise<Dev> {
  const child = spawn(process.execPath, ['scripts/dev.ts'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const [, shell] = await Promise.race([fileIn(child.stdout), exited.then(() => [])])
  if (!shell) throw new Error('npm run dev ended before it was ready')
  return {
    shell,
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT')
      await exited
    },
  }
}

async function fileIn(output: NodeJS.ReadableStream): Promise<string[]> {
  let found: string[] = []
  for await (const line of createInterface({ input: output })) {
    found = /^ {2}\. (\S+\/shell)$/.exec(line) ?? found
    if (line.startsWith('Ctrl-C')) break
  }
  return found
}

/** `ended`: the exit code, and the codes of what was refused. */
async function paste(shell: string, commands: string): Promise<{ ended: string; output: string }> {
  const { code, output } = await run('bash', ['-c', `. ${shell}\nset -eu -o pipefail\n${commands}`])
  const refused = [...output.matchAll(/"error":\{"code":"(\w+)"/g)].map(([, name]) => name)
  return { ended: `${code} ${refused}`, output }
}

async function run(
  program: string,
  args: string[],
  from: NodeJS.ProcessEnv = process.env,
): Promise<{ code: number | null; output: string }> {
  const PATH = `${path.dirname(process.execPath)}:${from.PATH}`
  const child = spawn(program, args, { cwd: ROOT, env: { ...from, PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
