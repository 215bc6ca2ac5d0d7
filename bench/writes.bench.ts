// npm run bench -- writes [--seconds N] [--rounds N] [--only kv,slot,large,record,projection,array,small,focus,recall]
// [--beside REV,…] [--flags='--flag --flag,…']: every write over HTTP (H) as a ratio of the least statement that
// somebody would write by hand for the same durable bytes (L, least.ts), in turns in one run; with microseconds of the
// daemon, of V8's helping threads in it, of PostgreSQL and of the generator, and bytes of WAL. Programs of other
// commits, or the same with other flags of V8, each in a world of its own, take their turns beside. Nothing counts
// before two runs in a row of each have differed by less than 5 %.

import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { type Programs, runCommand, startProgram } from '@loci/tests/world/process.ts'
import { checkOut } from '@loci/tests/world/release.ts'
import { type Least, prepareLeast, runLeast, type Samples } from './least.ts'
import { type Measured, runMeasured } from './measured.ts'
import { ARRAY, fill, type Name, operations } from './operations.ts'
import { indexed, median, memoryOf, type RecallWorld, send, withRecallWorld } from './recall-world.ts'

interface Path {
  name: Name
  /** Undefined: no statement does that; it is told without a ratio. */
  least?: Least
  target?: number
  each?: number
}

const PATHS: Record<string, Path> = {
  kv: { name: 'kv write', least: 'kv', target: 0.45 },
  slot: { name: 'slot written', least: 'slot', target: 0.8 },
  large: { name: 'slot written, 256 of 1 KiB' },
  record: { name: 'record stored', least: 'record', target: 0.8 },
  projection: { name: 'projection', least: 'projection', target: 0.5 },
  array: { name: 'projection of an array', least: 'projection', target: 1.6, each: ARRAY },
  small: { name: 'cycle of a small database', least: 'small cycle', target: 0.5 },
  focus: { name: 'cycle with a focus', least: 'focused cycle', target: 0.25 },
  recall: { name: 'recall' },
}
/** Databases in which a focus is asked for: as many as clients, so that none waits for another. */
const SEARCHED = 16
const SETTLED = 0.05
const WARM_UP_RUNS_MAX = 10

const { values: options } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', default: Object.keys(PATHS).join(',') },
    beside: { type: 'string', default: '' },
    flags: { type: 'string', default: '' },
  },
})
const seconds = Number(options.seconds)
const rounds = Number(options.rounds)
const paths = options.only.split(',').map((name) => PATHS[name] ?? unknown(name))
const listOf = (text: string) => text.split(',').filter((one) => one !== '')
await using stack = new AsyncDisposableStack()
const ways: { title: string; programs?: Programs }[] = [{ title: 'this checkout' }]
for (const revision of listOf(options.beside)) {
  const release = stack.use(await checkOut(revision))
  ways.push({ title: revision, programs: release.programs })
}
for (const flags of listOf(options.flags))
  ways.push({
    title: flags,
    programs: {
      startProgram: (program, settings, nodeOptions = []) =>
        startProgram(program, settings, [...nodeOptions, ...flags.split(' ')]),
      runCommand,
    },
  })

let isMissed = false
console.log(`load of the machine over the last minute: ${loadavg()[0]?.toFixed(1)}`)
await open([])
console.log(`load of the machine over the last minute: ${loadavg()[0]?.toFixed(1)}`)
process.exitCode = isMissed ? 1 : 0

/** A world for each way, one inside the other; then all of them are there. */
async function open(worlds: RecallWorld[]): Promise<void> {
  const way = ways[worlds.length]
  if (!way) return measureAll(worlds)
  const run = async (bench: RecallWorld) => {
    await fill(bench, { searched: SEARCHED, isCopied: false })
    if (paths.some(({ name }) => name.startsWith('slot written, 256'))) await fillLarge(bench)
    await open([...worlds, bench])
  }
  await withRecallWorld({}, run, way.programs)
}

async function measureAll(worlds: RecallWorld[]): Promise<void> {
  const [bench] = worlds as [RecallWorld]
  await prepareLeast(bench, await samplesOf(bench))
  for (const path of paths) await measure(worlds, path)
  worlds.forEach((world, n) => {
    console.log(`${ways[n]?.title}: the daemon holds ${memoryOf(world.daemon().pid).mb.toFixed(0)} MB`)
  })
}

async function measure(worlds: RecallWorld[], path: Path): Promise<void> {
  const [bench] = worlds as [RecallWorld]
  const least: number[] = []
  const runs = worlds.map(() => [] as Measured[])
  const ask = async (world: RecallWorld) =>
    runMeasured(world.world, { ...operations(world, { seconds, searched: SEARCHED })[path.name](), warmUpSeconds: 0.3 })
  for (const world of worlds) await settle(() => ask(world))
  for (let round = 0; round < rounds; round += 1) {
    if (path.least) least.push(await runLeast(bench, path.least, Math.ceil(seconds)))
    // The order changes with each round: the first way may have what L has left to be written beside it.
    const ordered = round % 2 === 0 ? [...worlds.entries()] : [...worlds.entries()].reverse()
    for (const [n, world] of ordered) {
      runs[n]?.push(await ask(world))
      await indexed(world)
    }
  }
  const { each = 1, target } = path
  const bare = path.least ? ` L ${Math.round(median(least))}/s` : ''
  console.log(
    `\n${path.name}${bare}\n  H/s   H/L   p99 ms   daemon us (V8's helpers)   postgres us   generator us   WAL bytes`,
  )
  for (const [n, own] of runs.entries()) {
    const of = (value: (one: Measured) => number) => median(own.map(value))
    const perSecond = of((one) => one.perSecond) * each
    const ratio = path.least ? perSecond / median(least) : undefined
    if (n === 0 && target !== undefined && ratio !== undefined && ratio < target) isMissed = true
    const aim = n === 0 && target !== undefined ? ` (target ${target})` : ''
    const share = Math.round((100 * of((one) => one.helpersUs)) / of((one) => one.daemonUs))
    const us = [of((one) => one.daemonUs), of((one) => one.postgresUs), of((one) => (one.cpu * 1e6) / one.perSecond)]
    const [daemon, postgres, generator] = us.map((one) => Math.round(one / each))
    console.log(
      `  ${Math.round(perSecond)}   ${ratio?.toFixed(2) ?? '-'}${aim}   ${of((one) => one.p99Ms).toFixed(1)}   ${daemon} (${share} %)   ` +
        `${postgres}   ${generator}   ${Math.round(of((one) => one.walBytes) / each)}   ${ways[n]?.title}`,
    )
  }
}

/** Runs until one is as fast as the one before it. */
async function settle(run: () => Promise<Measured>): Promise<void> {
  let last = 0
  for (let runs = 0; runs < WARM_UP_RUNS_MAX; runs += 1) {
    const { perSecond } = await run()
    if (Math.abs(perSecond - last) < SETTLED * last) return
    last = perSecond
  }
  console.log(`  not settled within ${SETTLED * 100} % in ${WARM_UP_RUNS_MAX} runs`)
}

async function fillLarge(bench: RecallWorld): Promise<void> {
  const puts = Array.from({ length: 256 }, (_, n) => ({ op: 'put', key: `k${n}`, value: 'x'.repeat(1_022) }))
  for (let n = 0; n < 16; n += 1) {
    await send(bench, bench.tenant, `large${n}`, 'PUT /v1/working-memory/config', { capacity: 256 })
    for (let at = 0; at < puts.length; at += 64)
      await send(bench, bench.tenant, `large${n}`, 'POST /v1/working-memory/slots/batch', {
        operations: puts.slice(at, at + 64),
      })
  }
}

/** Reads them from a small database and from one with records, each after a cycle. */
async function samplesOf(bench: RecallWorld): Promise<Samples> {
  const answerOf = (database: string, line: string, body?: object) =>
    send<{ slots: object[]; id: string; cycle?: { id: string } }>(bench, bench.tenant, database, line, body)
  const after = async (database: string, focus: string | null) => {
    const cycle = await answerOf(database, 'POST /v1/cognitive/cycles', {
      ...(focus ? { focus } : {}),
      observations: [{ content: `What the sample of ${database} says.`, actor: 'Ada' }],
    })
    const decisions = await answerOf(database, `GET /v1/cognitive/cycles/${cycle.id}/decisions`)
    const { slots } = await answerOf(database, 'GET /v1/working-memory/slots')
    return { document: slots.map((slot) => JSON.stringify(slot)), ledger: JSON.stringify(decisions) }
  }
  const small = await after('d0', null)
  const large = await after('m0', 'Where does Anna want to move, and when?')
  const record = JSON.stringify(await answerOf('m0', 'GET /v1/memory/records?limit=1'))
  const samples = {
    ...{ slot: small.document[0] ?? '', document: small.document.join(','), ledger: small.ledger, record },
    ...{ largeDocument: large.document.join(','), largeLedger: large.ledger },
  }
  const sizes = Object.entries(samples).map(([name, text]) => `${name} ${text.length}`)
  console.log(`what L writes, in characters: ${sizes.join(', ')}`)
  return samples
}

function unknown(name: string): never {
  throw new Error(`--only: there is no ${name}, only ${Object.keys(PATHS).join(', ')}`)
}
