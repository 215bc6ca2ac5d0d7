// What a quiet tenant and the live probe feel beside somebody who is loud. The quiet one is measured alone and beside
// in turns, in many short windows. The figure of a kind is the median p99 of its windows by the median p99 of the quiet
// windows around them: a moment at which somebody else had the machine spoils one window and not the verdict. A kind
// above its bound is measured in more rounds, and all of them count. Where the machine leaves the daemon a tenth of a
// core, a burst that is paid for takes seconds of the wall, and the ratio says little: then look at the part of a core.

import { processUs } from '../world/cpu-time.ts'
import type { LociProcess } from '../world/process.ts'
import type { Report } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import type { CostlyKind } from './dear-costs.ts'
import { type LoadResult, runLoad } from './open-loop.ts'
import { startProbe } from './probe.ts'

export const RATIO_MAX = 3
export const LIVE_P99_MS_MAX = 100
const QUIET_PER_SECOND = 200
/** The greedy one begins so long before a window: its burst is part of what others feel, its first moment is not. */
const AHEAD_S = 0.5

export interface Kind extends CostlyKind {
  /** Of all its services together. */
  perSecond: number
}

export interface Window {
  kind: Kind
  /** Just before and just after it. */
  aloneMs: [number, number]
  besideMs: number
  /** Of a core: what the daemon used more than alone. A busy machine hardly changes it. */
  part: number
  liveMs: number
  failed: number
  greedy: LoadResult
}

/** Rounds over all kinds, so that the debt of a kind's last window is worked off before its next one. */
export async function measure(
  report: Pick<Report, 'note'>,
  daemon: LociProcess,
  quiet: WorldTenant,
  kinds: Kind[],
  { rounds, roundsMax, seconds }: { rounds: number; roundsMax: number; seconds: number },
): Promise<Window[]> {
  const windows: Window[] = []
  let left = kinds
  for (let round = 0; left.length > 0 && round < roundsMax; round += 1) {
    let before = await parted(daemon, () => alone(daemon, quiet, seconds))
    for (const kind of left) {
      const { felt, live, part, greedy: told } = await beside(daemon, quiet, kind, seconds)
      const after = await parted(daemon, () => alone(daemon, quiet, seconds))
      windows.push({
        kind,
        aloneMs: [before.accepted.p99Ms, after.accepted.p99Ms],
        besideMs: felt.accepted.p99Ms,
        part: part - (before.part + after.part) / 2,
        liveMs: live.p99Ms,
        failed: felt.errors + live.failed + Object.values(felt.refusals).reduce((sum, count) => sum + count, 0),
        greedy: told,
      })
      before = after
    }
    const ratios = left.map((kind) => ratioOf(windows.filter((one) => one.kind === kind)).ratio.toFixed(1))
    report.note(`round ${round + 1}: ${ratios.join(' ')} × of quiet so far, for ${left.length} kinds`)
    if (round + 1 >= rounds)
      left = left.filter((kind) => ratioOf(windows.filter((one) => one.kind === kind)).ratio > RATIO_MAX)
  }
  return windows
}

export function verdictOf(windows: Window[], live: { ms: number; text: string }): { isKept: boolean; figure: string } {
  const { ratio, aloneMs, besideMs } = ratioOf(windows)
  const besides = windows.map((one) => one.besideMs)
  const liveMs = median(windows.map((one) => one.liveMs))
  const failed = windows.reduce((sum, one) => sum + one.failed, 0)
  const told: Record<string, number> = {}
  for (const { greedy } of windows)
    for (const [status, count] of Object.entries(greedy.statuses)) told[status] = (told[status] ?? 0) + count
  return {
    isKept: ratio <= RATIO_MAX && liveMs <= live.ms && failed === 0 && (told['200'] ?? 0) > 0,
    figure: `p99 ${ratio.toFixed(1)} × of quiet (at most ${RATIO_MAX}; ${aloneMs.toFixed(1)} → ${besideMs.toFixed(1)} ms), the medians of ${windows.length} windows from ${Math.min(...besides).toFixed(1)} to ${Math.max(...besides).toFixed(1)} ms; live p99 ${liveMs} ms (${live.text}); ${failed} failed; ${(100 * partOf(windows)).toFixed(0)} % of a core; the greedy one was told ${JSON.stringify(told)}`,
  }
}

async function alone({ url }: LociProcess, quiet: WorldTenant, seconds: number): Promise<LoadResult> {
  return runLoad({
    url,
    method: 'GET',
    path: '/v1/kv/entries/k{n}',
    variants: 1_000,
    tokens: [quiet.capability.token],
    connections: 16,
    perSecond: QUIET_PER_SECOND,
    seconds,
  })
}

async function beside(daemon: LociProcess, quiet: WorldTenant, kind: Kind, seconds: number) {
  const { url, pid } = daemon
  const { method, path, body, tokens, variants = 1, isPartner = false, headers = {}, streamMs, perSecond } = kind
  const load = { url, method, path, variants, tokens, isPartner, headers, connections: 16, perSecond }
  const noise = runLoad({
    ...load,
    ...(body === undefined ? {} : { body }),
    ...(streamMs === undefined ? {} : { streamMs }),
    warmUpSeconds: 0,
    seconds: seconds + 2 * AHEAD_S + 0.5,
  })
  await sleep(AHEAD_S * 1_000)
  const probe = startProbe(url, pid, { method: 'GET', path: '/health/live' })
  const { part, ...felt } = await parted(daemon, () => alone(daemon, quiet, seconds))
  const live = await probe.stop()
  return { felt, live, part, greedy: await noise }
}

/** With the part of a core that the daemon used meanwhile. */
async function parted<Result>({ pid }: LociProcess, run: () => Promise<Result>): Promise<Result & { part: number }> {
  const startedAt = performance.now()
  const before = processUs(pid)
  const result = await run()
  return { ...result, part: (processUs(pid) - before) / 1_000 / (performance.now() - startedAt) }
}

/** Of a core: what the greedy one had of it. */
export function partOf(windows: Window[]): number {
  return median(windows.map(({ part }) => part))
}

export function ratioOf(windows: Window[]): { ratio: number; aloneMs: number; besideMs: number } {
  const aloneMs = median(windows.flatMap((one) => one.aloneMs))
  const besideMs = median(windows.map((one) => one.besideMs))
  return { ratio: besideMs / aloneMs, aloneMs, besideMs }
}

export function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
