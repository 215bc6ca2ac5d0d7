// Processor time of a rank as the daemon computes it, without a database and HTTP: by tools, and by outcomes folded.

import { atOnce } from '@loci/chassis/testing/at-once.ts'
import { Catalogue } from '@loci/daemon/advice/fold/catalogue.ts'
import { apply, type Ledger } from '@loci/daemon/advice/fold/fold.ts'
import { EXPLORE } from '@loci/daemon/advice/fold/parameters.ts'
import { rank } from '@loci/daemon/advice/fold/rank.ts'
import { openSnapshot, takeSnapshot } from '@loci/daemon/advice/fold/snapshot.ts'
import { type AdviceState, emptyState } from '@loci/daemon/advice/fold/state.ts'
import { wordsOf } from '@loci/daemon/advice/fold/words.ts'
import { catalogueOf } from './rank-catalogue.ts'

const BOUNDS_MS: Readonly<Record<number, number>> = { 200: 1, 4000: 5 }
const FLAT_MAX = 1.3
const RANKS = 400

export function measureFold({ short }: { short: boolean }): boolean {
  const counts = short ? [1_000, 10_000, 100_000] : [1_000, 100_000, 10_000_000]
  return [200, 4_000].map((tools) => measure(tools, counts)).every(Boolean)
}

function measure(tools: number, counts: readonly number[]): boolean {
  const { outcome, intent } = catalogueOf(tools)
  const state = emptyState()
  const times: number[] = []
  let folded = 0
  for (const count of counts) {
    const startedAt = process.cpuUsage()
    const from = folded
    for (; folded < count; folded++) {
      const { tool, outcome: value, intent: text, taskClass } = outcome()
      const told = {
        id: String(folded),
        partner: 'bench',
        taskClass,
        scope: null,
        intent: wordsOf(text),
        takesBack: null,
      }
      const ledger: Ledger = new Map()
      apply(state, { ...told, tools: [{ tool, outcome: value }] }, ledger)
    }
    const applyUs = cpuMs(startedAt) * 1_000
    const ms = rankMs(state, intent)
    times.push(ms)
    const bytes = snapshotBytes(state)
    console.log(
      `${String(tools).padStart(6)} tools, ${String(count).padStart(9)} outcomes: rank ${ms.toFixed(3)} ms, fold ${(applyUs / (count - from)).toFixed(0)} us an outcome, snapshot ${Math.round(bytes.size / 1024)} KiB, opened in ${bytes.openMs.toFixed(0)} ms`,
    )
  }
  // The first one has names and no learned words: what may not grow is the rest.
  const growth = (times.at(-1) ?? 0) / (times[1] ?? 1)
  const isReached = Math.max(...times) <= (BOUNDS_MS[tools] ?? 0) && growth <= FLAT_MAX
  console.log(
    `${isReached ? '      ' : 'MISSED'} ${tools} tools: at most ${BOUNDS_MS[tools]} ms; ${growth.toFixed(2)} × from ${counts[1]} to ${counts.at(-1)} outcomes (at most ${FLAT_MAX})`,
  )
  return isReached
}

function rankMs(state: AdviceState, intent: () => string): number {
  const catalogue = new Catalogue(state, null)
  const ask = (i: number) =>
    rank(state, catalogue, {
      ...{ intent: wordsOf(intent()), taskClass: `class${i % 5}`, scope: null, seed: `event ${i}` },
      ...{ explore: EXPLORE, limit: 10 },
    })
  for (let i = 0; i < RANKS; i++) ask(i)
  const startedAt = process.cpuUsage()
  for (let i = 0; i < RANKS; i++) ask(i)
  return cpuMs(startedAt) / RANKS
}

function snapshotBytes(state: AdviceState): { size: number; openMs: number } {
  for (const k of state.tools.keys()) state.changed.add(k)
  const { head, tools } = atOnce(takeSnapshot(state))
  const startedAt = process.cpuUsage()
  atOnce(openSnapshot(head, tools))
  return { size: tools.reduce((sum, { bytes }) => sum + bytes.length, head.length), openMs: cpuMs(startedAt) }
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1_000
}
