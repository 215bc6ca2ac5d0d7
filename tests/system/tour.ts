// What README.md, docs/tour.md and sdk/README.md give a newcomer to paste works, against what `npm run dev` starts.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { reportOn } from '../world/report.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
/** What the tour shows being refused, in its order. */
const REFUSED = ['VERSION_CONFLICT', 'VALIDATION_ERROR', 'OPERATION_NOT_ALLOWED']

await reportOn(async (report) => {
  await using dev = await startDev()
  const start = await paste(dev.shell, blocksOf('README.md', 'Create, write, read'))
  const isAnswered = /"abstained":false/.test(start.output)
  report.promise(
    'the start of README.md works, and its question is answered',
    start.ended === '0 ' && isAnswered,
    `${start.ended}, ${isAnswered ? 'answered' : start.output.slice(-300)}`,
  )
  const text = blocksOf('docs/tour.md')
  const tour = await paste(dev.shell, text)
  report.promise('the tour works, and refuses what it says', tour.ended === `0 ${REFUSED}`, tour.ended)
  if (tour.ended !== `0 ${REFUSED}`) report.note(tour.output)
  const example = blocksOf('sdk/README.md')
  const sdk = await runExample(dev.shell, example)
  report.promise('the example of the sdk works', sdk === 'tea', sdk)

  const renamed = await paste(dev.shell, text.replaceAll('my-first', 'again').replace('ttl_seconds', 'ttl_secs'))
  report.mutant('a field that was renamed', renamed.ended === tour.ended ? undefined : renamed.ended)
})

interface Dev extends AsyncDisposable {
  /** The file with the variables that the documents use. */
  shell: string
}

async function startDev(): Promise<Dev> {
  const child = spawn(process.execPath, ['scripts/dev.ts'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  const [, shell] = await Promise.race([shellOf(child.stdout), exited.then(() => [])])
  if (!shell) throw new Error('npm run dev ended before it was ready')
  return {
    shell,
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT')
      await exited
    },
  }
}

async function shellOf(output: NodeJS.ReadableStream): Promise<string[]> {
  let found: string[] = []
  for await (const line of createInterface({ input: output })) {
    found = /^ {2}\. (\S+\/shell)$/.exec(line) ?? found
    if (line.startsWith('Ctrl-C')) break
  }
  return found
}

/** The indented blocks of a document, or of one section of it. */
function blocksOf(file: string, section?: string): string {
  let heading = ''
  const lines = readFileSync(path.join(ROOT, file), 'utf8').split('\n')
  const kept = lines.filter((line) => {
    if (line.startsWith('#')) heading = line.replace(/^#+ /, '')
    return line.startsWith('    ') && (section === undefined || heading === section)
  })
  return kept.map((line) => line.slice(4)).join('\n')
}

/** `ended`: the exit code, and the codes of what was refused. */
async function paste(shell: string, commands: string): Promise<{ ended: string; output: string }> {
  const { code, output } = await run('bash', ['-c', `. ${shell}\nset -eu -o pipefail\n${commands}`])
  const refused = [...output.matchAll(/"error":\{"code":"(\w+)"/g)].map(([, name]) => name)
  return { ended: `${code} ${refused}`, output }
}

async function runExample(shell: string, code: string): Promise<string> {
  // Inside the checkout, where @loci/sdk is found.
  const file = path.join(ROOT, 'sdk/try.ts')
  writeFileSync(file, code)
  try {
    const command = `. ${shell} && node ${file} "$M" "\${KEY#*: }" "$TENANT"`
    return (await run('bash', ['-c', command])).output.trim()
  } finally {
    rmSync(file)
  }
}

async function run(program: string, args: string[]): Promise<{ code: number | null; output: string }> {
  const PATH = `${path.dirname(process.execPath)}:${process.env.PATH}`
  const child = spawn(program, args, { cwd: ROOT, env: { ...process.env, PATH }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output }
}
