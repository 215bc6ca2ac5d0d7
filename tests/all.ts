// Every system test in full, one after the other: `npm run test:system -- all [--short] [--from NAME]`. Each result is
// written to a file as soon as it is known, so a run that was interrupted goes on with --from and its table is whole.

import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

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
const KEPT = fileURLToPath(new URL('../node_modules/.cache/loci-system-tests.json', import.meta.url))

export async function runAll(names: string[], args: string[], env: NodeJS.ProcessEnv): Promise<number> {
  const from = args.includes('--from') ? args[args.indexOf('--from') + 1] : undefined
  if (from !== undefined && !names.includes(from)) {
    console.error(`--from is one of ${names.join(', ')}`)
    return 2
  }
  const handed = args.includes('--short') ? ['--short'] : []
  const first = from === undefined ? 0 : names.indexOf(from)
  const before = names.slice(0, first)
  const results = readKept().filter(({ name, isShort }) => before.includes(name) && isShort === handed.length > 0)
  for (const name of names.slice(first)) {
    console.log(`\n== ${[name, ...handed].join(' ')}`)
    results.push(await runOne(name, handed, env))
    keep(results)
  }
  return tell(results, names.length)
}

async function runOne(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<Result> {
  const started = performance.now()
  const file = fileURLToPath(new URL(`system/${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'inherit'], env })
  const guard = setTimeout(() => child.kill('SIGTERM'), TEST_MS_MAX)
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
    name,
    seconds: Math.round((performance.now() - started) / 1_000),
    passed: Number(passed),
    failed: Number(failed) + (isBroken ? 1 : 0),
    tail: isBroken ? `exit code ${code}: ${last.slice(0, 160)}` : last,
    commit: commitOf(),
    isShort: args.length > 0,
  }
}

function tell(results: Result[], wanted: number): number {
  const sum = (of: 'passed' | 'failed' | 'seconds') => results.reduce((total, result) => total + result[of], 0)
  console.log(`\n${'test'.padEnd(20)} ${'commit'.padEnd(10)} seconds  result`)
  for (const { name, seconds, tail, commit } of results)
    console.log(`${name.padEnd(20)} ${commit.padEnd(10)} ${String(seconds).padStart(7)}  ${tail}`)
  const missing = wanted - results.length
  if (missing > 0)
    console.log(`${missing} tests before --from have no result in ${path.basename(KEPT)}: run without --from`)
  console.log(`${results.length} system tests in ${sum('seconds')} s`)
  console.log(`${sum('passed')} passed, ${sum('failed') + missing} failed`)
  return sum('failed') + missing === 0 ? 0 : 1
}

/** A table that was gone on with may be of several commits, and says so. */
function commitOf(): string {
  return spawnSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).stdout?.trim() ?? ''
}

function readKept(): Result[] {
  try {
    return JSON.parse(readFileSync(KEPT, 'utf8')) as Result[]
  } catch {
    return []
  }
}

function keep(results: Result[]): void {
  mkdirSync(path.dirname(KEPT), { recursive: true })
  writeFileSync(KEPT, JSON.stringify(results, null, 1))
}
