// `npm test [-- <part of a path> ...]`: every *.test.ts beside the code, on one throwaway Postgres. `--name <pattern>`:
// only the tests whose name matches. `--changed [--base REV]`: only what the change since REV can reach (the last
// commit shared with origin's main unless told). `--times 10 --beside 2`: ten runs with two busy processes beside them.
// Passing tests are silent; failures come in full; a skipped test is named with its reason. Last line: `N passed, N
// failed`, with `, N skipped` when there are any. The system tests are `npm run test:system`.

import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { run } from 'node:test'
import { inspect, parseArgs } from 'node:util'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { runAgain } from './test-again.ts'
import { baseOf, changedFiles, reachedBy, readTracked } from './test-changed.ts'
import { watchLeaving } from './test-leaving.ts'

type RunEvent = { [Type in keyof Events]: { type: Type; data: Events[Type] } }[keyof Events]
type Events = {
  'test:pass': Outcome
  'test:fail': Outcome
  'test:stdout': Printed
  'test:stderr': Printed
  'test:summary': { file?: string; duration_ms: number }
  'test:complete': Outcome
}
type Printed = { file: string; message: string }
type Outcome = {
  name: string
  file?: string
  /** Absent when the "test" is the process of a whole file. */
  entryFile?: string
  line?: number
  classname?: string
  skip?: string | boolean
  todo?: string | boolean
  details: { duration_ms: number; type?: string; error?: Error & { failureType?: string } }
}

// Both are guards against what hangs, and far above what a loaded machine needs: a test of 3 s took 24 s at a load of
// ten.
const TEST_MS_MAX = 300_000
/** No file may hang the run: a test that leaves a handle open is never reported as failing by node itself. */
const RUN_MS_MAX = 45 * 60_000
const PRINTED_LINES_MAX = 80

const top = path.dirname(import.meta.dirname)
const stop = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => stop.abort(new Error(`stopped by ${signal}`)))

const { values: options, positionals: filters } = parseArgs({
  options: {
    name: { type: 'string' },
    times: { type: 'string' },
    beside: { type: 'string', default: '0' },
    nice: { type: 'string', default: '0' },
    changed: { type: 'boolean', default: false },
    base: { type: 'string' },
  },
  allowPositionals: true,
})
const files = options.changed ? findChanged(findTests(filters)) : findTests(filters)
const tally = { passed: 0, failed: 0, skipped: 0 }
if (files.length === 0 && options.changed) {
  console.log('no test can see this change')
} else if (files.length === 0) {
  console.log(`no test file matches ${filters.join(' ') || '**/*.test.ts'}; give a part of its path`)
  tally.failed++
} else if (options.times !== undefined) {
  const args = [...filters, ...(options.name ? ['--name', options.name] : [])]
  const [times, beside, nice] = [Number(options.times), Number(options.beside), Number(options.nice)]
  Object.assign(tally, await runAgain(import.meta.filename, args, { times, beside, nice, signal: stop.signal }))
} else {
  await runOnPostgres()
}
const skipped = tally.skipped > 0 ? `, ${tally.skipped} skipped` : ''
console.log(`${tally.passed} passed, ${tally.failed} failed${skipped}`)
process.exit(tally.failed > 0 ? 1 : 0)

function findTests(wanted: readonly string[]): string[] {
  return globSync('{libs/*,sdk,daemon,management,console,cli,tests,scripts,bench,eval}/**/*.test.ts', {
    cwd: top,
    exclude: ['**/node_modules/**', 'tests/system/**'],
  })
    .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part.replace(/^\.\//, ''))))
    .sort()
}

function findChanged(tests: string[]): string[] {
  const base = options.base ?? baseOf(top)
  const changed = changedFiles(top, base)
  const reached = reachedBy(changed, readTracked(top), tests)
  console.log(
    `${changed.length} files differ from ${base.slice(0, 12)}; ${reached.length} of ${tests.length} test files`,
  )
  return reached
}

async function runOnPostgres(): Promise<void> {
  // The tests inherit this environment. A developer's own LOCI_ settings must not decide whether a test passes.
  for (const name of Object.keys(process.env)) if (name.startsWith('LOCI_')) delete process.env[name]
  // 160 processes load the same code; compiled once, each starts in half the time.
  process.env.NODE_COMPILE_CACHE = path.join(top, 'node_modules/.cache/loci-compiled')
  const server = process.env.TEST_POSTGRES_URL ? undefined : await startThrowaway()
  if (server) process.env.TEST_POSTGRES_URL = server.adminUrl()
  try {
    await runFiles()
  } finally {
    await server?.remove()
  }
}

async function runFiles(): Promise<void> {
  const started = performance.now()
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(RUN_MS_MAX)])
  const stream = run({
    files: files.map((file) => path.join(top, file)),
    concurrency: Math.max(2, availableParallelism()),
    timeout: TEST_MS_MAX,
    ...(options.name ? { testNamePatterns: [options.name] } : {}),
    signal,
  })
  const durations = new Map<string, number>()
  const printed = new Map<string, string>()
  const failedFiles = new Set<string>()
  const leaving = watchLeaving(console.log)
  for await (const event of stream as AsyncIterable<RunEvent>) {
    if (event.type === 'test:stdout' || event.type === 'test:stderr') {
      printed.set(event.data.file, (printed.get(event.data.file) ?? '') + event.data.message)
    } else if (event.type === 'test:summary') {
      if (!event.data.file) continue
      durations.set(event.data.file, event.data.duration_ms)
      leaving.watch(event.data.file)
    } else if (event.type === 'test:complete') {
      if (event.data.name === event.data.file) leaving.left(event.data.file)
    } else if (event.type === 'test:pass' || event.type === 'test:fail') {
      if (leaving.isOurs(event.data)) continue
      if (!count(event.type === 'test:pass', event.data) && event.data.file) failedFiles.add(event.data.file)
    }
  }
  for (const file of failedFiles) sayPrinted(file, printed.get(file) ?? '')
  if (signal.aborted) {
    const open = files.filter((file) => !durations.has(path.join(top, file)))
    console.log(
      `\n${stop.signal.reason?.message ?? `stopped after ${RUN_MS_MAX / 60_000} min`}; not finished: ${open.join(', ')}`,
    )
    tally.failed++
  }
  if (tally.passed + tally.failed === 0) {
    console.log('no test ran; a run without tests proves nothing')
    tally.failed++
  }
  const slowest = [...durations].toSorted(([, a], [, b]) => b - a).slice(0, 5)
  console.log('\nslowest files')
  for (const [file, ms] of slowest) console.log(`  ${seconds(ms)}  ${path.relative(top, file)}`)
  const inTests = [...durations.values()].reduce((sum, ms) => sum + ms, 0)
  const whole = performance.now() - started
  console.log(`${files.length} files in ${seconds(whole).trim()}, ${seconds(inTests).trim()} of them in tests`)
}

/** Returns false for a failure. */
function count(passed: boolean, test: Outcome): boolean {
  const where = `${path.relative(top, test.file ?? '')}${test.line ? `:${test.line}` : ''}`
  const name = test.classname ? `${test.classname} > ${test.name}` : test.name
  // A suite or a parent fails with its children, and those have been told already.
  if (test.details.type === 'suite' && (passed || test.details.error?.failureType === 'subtestsFailed')) return passed
  if (test.skip !== undefined || test.todo !== undefined) {
    const reason = [test.skip, test.todo].find((given) => typeof given === 'string' && given !== '')
    console.log(`skipped ${where} ${name}: ${reason ?? 'no reason given; give one with { skip: reason }'}`)
    tally.skipped++
    return true
  }
  if (test.entryFile === undefined) return countWholeFile(passed, where, test)
  if (passed) {
    tally.passed++
    return true
  }
  tally.failed++
  console.log(`\nFAILED ${where} ${name} (${seconds(test.details.duration_ms).trim()})`)
  console.log(indent(inspect(test.details.error?.cause ?? test.details.error, { depth: 8 })))
  return false
}

/** Node reports a file as if it were a test when it holds none, and when its process ended badly. */
function countWholeFile(passed: boolean, where: string, test: Outcome): boolean {
  if (passed && options.name) return true
  tally.failed++
  const why = passed
    ? 'holds no test; write one or delete the file'
    : `the process failed: ${test.details.error?.message}`
  console.log(`\nFAILED ${where} ${why}`)
  return false
}

function sayPrinted(file: string, text: string): void {
  if (text.trim() === '') return
  const lines = text.trimEnd().split('\n')
  const cut = lines.length > PRINTED_LINES_MAX ? `, the last ${PRINTED_LINES_MAX} of ${lines.length} lines` : ''
  console.log(`\nprinted by ${path.relative(top, file)}${cut}`)
  console.log(indent(lines.slice(-PRINTED_LINES_MAX).join('\n')))
}

function indent(text: string): string {
  return text.replaceAll(/^/gm, '  ')
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1).padStart(6)} s`
}
