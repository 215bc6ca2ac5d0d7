// One free account sends four times as many bodies as there are slots, a byte of each, again and again; what others
// feel of it.

import type { LociProcess } from '../world/process.ts'
import { type Outcome, type PlainRequest, plainClient } from './plain-client.ts'

export interface Felt {
  /** Of all that the others asked for. */
  goodput: number
  quietP99Ms: number
  p99Ms: number
  /** Of what must answer throughout: administration, cells, the webhook. */
  unanswered: string[]
  dripped: Record<string, number>
  asked: number
}

interface Crowd {
  stop(): Promise<Record<string, number>>
}

interface Scene {
  target: LociProcess
  /** What the others have to live beside; what it was told, by status. */
  crowd(): Crowd | Promise<Crowd>
  others: PlainRequest[]
  /** Each with the answers that are as they should be. */
  reserved: { name: string; request: PlainRequest; fits: RegExp }[]
  ms: number
}

/** Of them, at once. */
export const OTHERS = 4
/** A p99 of fewer is the slowest of them and nothing else; a busy machine is given longer. */
const SAMPLES_MIN = 300
const PATIENCE = 8

export async function feel({ target, crowd, others, reserved, ms }: Scene): Promise<Felt> {
  const quiet = await ask(target, others, ms / 2)
  const drips = await crowd()
  await sleep(ms / 4)
  const unanswered: string[] = []
  const watch = startReserved(target, reserved, unanswered)
  const beside = await ask(target, others, ms)
  await watch.stop()
  const good = beside.filter(({ outcome }) => outcome.kind === 'answer' && outcome.status < 300)
  return {
    goodput: good.length / beside.length,
    quietP99Ms: p99(quiet.map((one) => one.ms)),
    p99Ms: p99(beside.map((one) => one.ms)),
    unanswered,
    dripped: await drips.stop(),
    asked: beside.length,
  }
}

/**
 * In the same run and on the same machine: twice what it was without them, or so much more where it was next to
 * nothing.
 */
export function faultsOf({ goodput, quietP99Ms, p99Ms, unanswered }: Felt, slackMs: number): string[] {
  const boundMs = Math.max(2 * quietP99Ms, quietP99Ms + slackMs)
  return [
    ...(goodput < 0.95 ? [`goodput ${Math.round(goodput * 100)} %`] : []),
    ...(p99Ms > boundMs ? [`p99 ${Math.round(p99Ms)} ms, quiet ${Math.round(quietP99Ms)} ms`] : []),
    ...(unanswered.length > 0 ? [`${unanswered.length} not answered, e.g. ${unanswered[0]}`] : []),
  ]
}

export function figureOf({ goodput, quietP99Ms, p99Ms, unanswered, dripped, asked }: Felt): string {
  return `goodput ${(goodput * 100).toFixed(1)} % of ${asked} (at least 95), p99 ${p99Ms.toFixed(1)} ms, quiet ${quietP99Ms.toFixed(1)} ms, ${unanswered.length} reserved ones not answered; the drips were told ${JSON.stringify(dripped)}`
}

async function ask({ url }: LociProcess, requests: PlainRequest[], forMs: number) {
  const startedAt = performance.now()
  const isOver = () => {
    const ms = performance.now() - startedAt
    return ms > PATIENCE * forMs || (ms > forMs && timed.length >= SAMPLES_MIN)
  }
  const timed: { ms: number; outcome: Outcome }[] = []
  await Promise.all(
    Array.from({ length: OTHERS }, async (_, number) => {
      const client = plainClient()
      for (let turn = number; !isOver(); turn += 1) {
        const sentAt = performance.now()
        const outcome = await client.send(url, requests[turn % requests.length] as PlainRequest)
        timed.push({ ms: performance.now() - sentAt, outcome })
        await sleep(10)
      }
      client.close()
    }),
  )
  return timed
}

function startReserved({ url }: LociProcess, reserved: Scene['reserved'], unanswered: string[]) {
  let isOver = false
  const lanes = reserved.map(async ({ name, request, fits }) => {
    const client = plainClient()
    while (!isOver) {
      const outcome = await client.send(url, request)
      const told = outcome.kind === 'answer' ? `${outcome.status} ${outcome.body}` : outcome.kind
      if (!fits.test(told)) unanswered.push(`${name}: ${told.slice(0, 120)}`)
      await sleep(100)
    }
    client.close()
  })
  return {
    async stop() {
      isOver = true
      await Promise.all(lanes)
    },
  }
}

function p99(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.99)] ?? 0
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
