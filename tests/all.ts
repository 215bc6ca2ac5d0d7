// Every system test in full, one after the other: `npm run test:system -- all [--short] [--left]`. Each result is
// written to a file as soon as it is known. --left runs only what has not passed there, so that a run that was
// interrupted or red is completed piece by piece, and its table is whole in the end.

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

type Result = {
  name: string
  seconds: number
  passed: number
  failed: number
  tail: string
  commit: string
  isShort: boolean
}

/** A guard against a test that hangs; the longest takes about 40 minutes alone on two cores. */
const TEST_MS_MAX = 3 * 3_600_000
const COUNT = /^(\d+) passed, (\d+) failed(?:, \d+ skipped)?(?:; .*)?$/

/** The tests are the files of the directory. Full and short runs have a table each in the file `kept`. */
type Tests = { names: string[]; directory: string; kept: string; stop: AbortSignal }

export async function runAll(
  { names, directory, kept, stop }: Tests,
  args: string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const handed = args.includes('--short') ? ['--short'] : []
  const isShort = handed.length > 0
  const before = readKept(kept)
  const others = before.filter((result) => result.isShort !== isShort)
  const known = before.filter((result) => result.isShort === isShort && names.includes(result.name))
  // The longest last, so that an interrupted run has many results; a test of unknown length is probably new.
  const secondsOf = (name: string) => known.find((result) => result.name === name)?.seconds ?? 0
  const ordered = names.toSorted((a, b) => secondsOf(a) - secondsOf(b))
  const isDone = (name: string) =>
    known.some((result) => result.name === name && result.passed > 0 && result.failed === 0)
  const isLeft = args.includes('--left')
  let results = isLeft ? known : []
  for (const name of isLeft ? ordered.filter((each) => !isDone(each)) : ordered) {
    console.log(`\n== ${[name, ...handed].join(' ')}`)
    const result = await runOne(path.join(directory, `${name}.ts`), handed, env, stop)
    if (stop.aborted) break
    results = [...results.filter((each) => each.name !== name), result]
    keep(kept, [...others, ...results])
  }
  return tell(results, names)
}

async function runOne(file: string, args: string[], env: NodeJS.ProcessEnv, stop: AbortSignal): Promise<Result> {
  const started = performance.now()
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env })
  const guard = setTimeout(() => child.kill('SIGTERM'), TEST_MS_MAX)
  stop.addEventListener('abort', () => child.kill('SIGTERM'))
  let tail = ''
  child.stdout.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk)
    tail = (tail + chunk.toString()).slice(-4_000)
  })
  const code = await new Promise<number>((resolve) => child.on('close', (status) => resolve(status ?? 1)))
  clearTimeout(guard)
  const last = tail.trimEnd().split('\n').at(-1) ?? ''
  const [, passed = '0', failed = '0'] = COUNT.exec(last) ?? []
  // A test that breaks before or after its count has failed, whatever it counted.
  const isBroken = !COUNT.test(last) || (code !== 0 && failed === '0')
  return {
    name: path.basename(file, '.ts'),
    seconds: Math.round((performance.now() - started) / 1_000),
    passed: Number(passed),
    failed: Number(failed) + (isBroken ? 1 : 0),
    tail: isBroken ? `exit code ${code}: ${last.slice(0, 160)}` : last,
    commit: commitOf(),
    isShort: args.length > 0,
  }
}

function tell(results: Result[], names: string[]): number {
  const sum = (of: 'passed' | 'failed' | 'seconds') => results.reduce((total, result) => total + result[of], 0)
  console.log(`\n${'test'.padEnd(20)} ${'commit'.padEnd(10)} seconds  result`)
  for (const { name, seconds, tail, commit } of results)
    console.log(`${name.padEnd(20)} ${commit.padEnd(10)} ${String(seconds).padStart(7)}  ${tail}`)
  const missing = names.filter((name) => !results.some((result) => result.name === name))
  if (missing.length > 0) console.log(`no result, so failed: ${missing.join(', ')}`)
  console.log(`${results.length} system tests in ${sum('seconds')} s`)
  console.log(`${sum('passed')} passed, ${sum('failed') + missing.length} failed`)
  return sum('failed') + missing.length === 0 ? 0 : 1
}

/** A table that was gone on with may be of several commits, and says so. */
function commitOf(): string {
  return spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout?.trim() ?? ''
}

function readKept(file: string): Result[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Result[]
  } catch {
    return []
  }
}

function keep(file: string, results: Result[]): void {
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify(results, null, 1))
}
