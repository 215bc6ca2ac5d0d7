// npm run eval -- advice: how well advice names the right tool, through the daemon's own fold and rank, beside other
// methods in the same run. Exits 1 when a figure that we promise is missed, or when another method is better.

import { createHash } from 'node:crypto'
import { atOnce } from '@loci/chassis/testing/at-once.ts'
import { Catalogue } from '@loci/daemon/advice/fold/catalogue.ts'
import { apply, type Ledger } from '@loci/daemon/advice/fold/fold.ts'
import { EXPLORE } from '@loci/daemon/advice/fold/parameters.ts'
import { rank } from '@loci/daemon/advice/fold/rank.ts'
import { openSnapshot, type ToolRow, takeSnapshot } from '@loci/daemon/advice/fold/snapshot.ts'
import { emptyState } from '@loci/daemon/advice/fold/state.ts'
import { Bm25, bestOf, type Event, type Method, NaiveBayes, NearestNeighbours, Popularity } from './baselines.ts'
import { discountedUcb, type Policy, type Regret, regretOf, thompson } from './drift.ts'
import { type MetaTool, type Request, readMetaTool, worldOf } from './metatool.ts'

const SEEDS = Array.from({ length: 10 }, (_, i) => i + 1)
const DRIFT_SEEDS = Array.from({ length: 20 }, (_, i) => i + 1)
const TASK = 'metatool'
const NOBODY = { partner: 'eval', scope: null, takesBack: null }

/** After so many events, hit@1 and hit@5 that are promised. */
const PROMISED: readonly { events: number; hit1: number; hit5: number }[] = [
  { events: 0, hit1: 0.44, hit5: 0.65 },
  { events: 100, hit1: 0, hit5: 0 },
  { events: 1_000, hit1: 0.615, hit5: 0.81 },
  { events: 10_000, hit1: 0.77, hit5: 0.925 },
]
const PROMISED_REGRET: Regret = { whole: 0.045, afterBreak: 0.065 }

type Hits = { hit1: number; hit5: number }
interface Evaluated {
  add(event: Event): void
  /** The best five. */
  top(request: Request): number[]
}

export async function evaluateAdvice(): Promise<void> {
  const started = process.cpuUsage()
  const data = readMetaTool()
  if (data === null)
    console.log('skipped: MetaTool is not here (shared/data/metatool.json beside the checkout, or LOCI_EVAL_METATOOL)')
  const reached = [data === null || reportHits(data), reportDrift()]
  const { user, system } = process.cpuUsage(started)
  console.log(`\n${((user + system) / 1e6).toFixed(0)} s of CPU`)
  process.exitCode = reached.every(Boolean) ? 0 : 1
}

function reportHits(data: MetaTool): boolean {
  const bm25 = new Bm25(data.names, data.descriptions)
  const size = data.names.length
  const methods: Readonly<Record<string, () => Evaluated>> = {
    popularity: () => scored(new Popularity(size)),
    'BM25 over names and descriptions': () => scored(bm25),
    'naive Bayes': () => scored(new NaiveBayes(bm25, size)),
    'nearest past requests': () => scored(new NearestNeighbours(size)),
  }
  const columns = PROMISED.map(({ events }) => String(events).padStart(12)).join('')
  console.log(`MetaTool, hit@1/hit@5, mean of ${SEEDS.length} seeds, after events${columns}`)
  const others = Object.entries(methods).map(([label, make]) => measureHits(data, label, make).hits)
  const ours = measureHits(data, 'advice', () => advised(data, Number.POSITIVE_INFINITY))
  const again = measureHits(data, 'advice, snapshots every 256, reopened', () => advised(data, 256))
  console.log(`hash of request and ranked tools: ${ours.hash}, again with snapshots: ${again.hash}`)
  const missed = PROMISED.flatMap(({ events, hit1, hit5 }, i) => {
    const found = ours.hits[i] ?? { hit1: 0, hit5: 0 }
    const best1 = Math.max(...others.map((hits) => hits[i]?.hit1 ?? 0))
    const best5 = Math.max(...others.map((hits) => hits[i]?.hit5 ?? 0))
    return [
      ...(found.hit1 < Math.max(hit1, best1)
        ? [`hit@1 after ${events}: ${found.hit1}, promised ${hit1}, best ${best1}`]
        : []),
      ...(found.hit5 < Math.max(hit5, best5)
        ? [`hit@5 after ${events}: ${found.hit5}, promised ${hit5}, best ${best5}`]
        : []),
    ]
  })
  for (const each of missed) console.log(`MISSED: ${each}`)
  return missed.length === 0 && ours.hash === again.hash
}

function measureHits(data: MetaTool, label: string, make: () => Evaluated): { hits: Hits[]; hash: string } {
  const hash = createHash('sha256')
  const sums = PROMISED.map(() => ({ hit1: 0, hit5: 0 }))
  for (const seed of SEEDS) {
    const { tests, events } = worldOf(data, seed)
    const method = make()
    let told = 0
    for (const [i, point] of PROMISED.entries()) {
      for (; told < point.events; told++) method.add(events[told] as Event)
      const sum = sums[i] as Hits
      for (const request of tests) {
        const top = method.top(request)
        hash.update(`${top} `)
        if (top[0] === request.tool) sum.hit1 += 1 / tests.length / SEEDS.length
        if (top.includes(request.tool)) sum.hit5 += 1 / tests.length / SEEDS.length
      }
    }
  }
  console.log(
    `${label.padEnd(46)}${sums.map(({ hit1, hit5 }) => `${figure(hit1)}/${figure(hit5)}`.padStart(12)).join('')}`,
  )
  return { hits: sums, hash: hash.digest('hex').slice(0, 16) }
}

function scored(method: Method): Evaluated {
  return {
    add: (event) => method.add(event),
    top: ({ words }) => {
      const scores = method.score(words)
      return bestOf(scores.keys(), scores, 5)
    },
  }
}

/** As the daemon does it: outcomes are folded without descriptions; these come with the request. */
function advised({ names, descriptions }: MetaTool, snapshotEvery: number): Evaluated {
  const candidates = names.map((name, k) => ({ name, description: descriptions[k] ?? '' }))
  const places = new Map(names.map((name, k) => [name, k]))
  const ledger: Ledger = new Map()
  const rows = new Map<number, ToolRow>()
  let state = emptyState()
  let catalogue: Catalogue | null = null
  let told = 0
  return {
    add({ words, tool, isSuccess }) {
      const outcome = { tool: names[tool] ?? '', outcome: isSuccess ? 'success' : 'failure' }
      apply(state, { ...NOBODY, id: String(told++), taskClass: TASK, intent: words, tools: [outcome] }, ledger)
      if (state.t % snapshotEvery === 0) {
        const { head, tools } = atOnce(takeSnapshot(state))
        for (const row of tools) rows.set(row.place, row)
        const sorted = [...rows.values()].sort((x, y) => x.place - y.place)
        state = atOnce(openSnapshot(head, sorted)) ?? state
      }
      catalogue = null
    },
    top({ words }) {
      catalogue ??= new Catalogue(state, candidates)
      const ask = { intent: words, taskClass: TASK, scope: null, seed: '', explore: 0, limit: 5 }
      return rank(state, catalogue, ask).map(({ name }) => places.get(name) ?? -1)
    },
  }
}

function reportDrift(): boolean {
  console.log(
    `\na world that drifts, regret and in the 1,000 calls after the break, mean of ${DRIFT_SEEDS.length} seeds`,
  )
  const others = [
    measureDrift('Thompson', thompson),
    measureDrift('D-UCB .998, width .25', () => discountedUcb(0.25)),
    measureDrift('D-UCB .998, width .05', () => discountedUcb(0.05)),
  ]
  measureDrift('advice, explore 0', (seed) => choosing(seed, 0))
  const ours = measureDrift(`advice, explore ${EXPLORE}`, (seed) => choosing(seed, EXPLORE))
  const missed = (['whole', 'afterBreak'] as const).filter(
    (part) => ours[part] > PROMISED_REGRET[part] || others.some((other) => other[part] < ours[part]),
  )
  for (const part of missed) console.log(`MISSED: regret ${part} ${ours[part]}, promised ${PROMISED_REGRET[part]}`)
  return missed.length === 0
}

function measureDrift(label: string, make: (seed: number) => Policy): Regret {
  const regrets = DRIFT_SEEDS.map((seed) => regretOf(seed, make(seed)))
  const mean = (part: keyof Regret) => regrets.reduce((sum, regret) => sum + regret[part], 0) / regrets.length
  const found = { whole: mean('whole'), afterBreak: mean('afterBreak') }
  console.log(`${label.padEnd(46)}${figure(found.whole).padStart(12)}${figure(found.afterBreak).padStart(12)}`)
  return found
}

function choosing(seed: number, explore: number): Policy {
  const names = Array.from({ length: 10 }, (_, k) => `t${k}`)
  const candidates = names.map((name) => ({ name }))
  const state = emptyState()
  const ledger: Ledger = new Map()
  let catalogue = new Catalogue(state, candidates)
  let told = 0
  return {
    choose(taskClass) {
      const ask = { intent: null, taskClass: `c${taskClass}`, scope: null, seed: `${seed}:${told}`, explore, limit: 1 }
      return names.indexOf(rank(state, catalogue, ask)[0]?.name ?? '')
    },
    learn(taskClass, tool, isSuccess) {
      const outcome = { tool: names[tool] ?? '', outcome: isSuccess ? 'success' : 'failure' }
      const known = state.tools.length
      apply(
        state,
        { ...NOBODY, id: String(told++), taskClass: `c${taskClass}`, intent: null, tools: [outcome] },
        ledger,
      )
      if (state.tools.length > known) catalogue = new Catalogue(state, candidates)
    },
  }
}

function figure(value: number): string {
  return value.toFixed(3).replace(/^0/, '')
}
