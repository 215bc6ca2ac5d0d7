// The sample of `loci up --seed demo`: an hour of a shop's support agent, moved to the last hour. What happened is told
// through the API as the agent would have told it, so every page and command shows what the server made of it.

import { Loci } from '@loci/sdk/loci.ts'
import type { User } from '@loci/sdk/user.ts'
import { asOperator } from '../profiles/operator.ts'
import demo from './demo.json' with { type: 'json' }
import { type DataDirectory, readJson, readText, writeWhole } from './files.ts'
import { addressesOf, type Sown, type State } from './state.ts'

/** Whose memory it is: what a command without --user shows. */
const AGENT = 'default'
const MINUTE_MS = 60_000

/** Once: what was told by a start that was cut off is found again, by the hour that was written down before. */
export async function sow(data: DataDirectory): Promise<Sown> {
  const state = readJson<State>(data.state) as State
  if (state.demo?.sown) return state.demo.sown
  const endedAt = state.demo?.endedAt ?? new Date().toISOString()
  const keep = (demo: State['demo']) => writeWhole(data.state, JSON.stringify({ ...state, demo }, null, 2))
  keep({ endedAt })
  const loci = new Loci({
    url: addressesOf(state.port).management,
    token: readText(data.secret('api-key')),
    service: state.serviceId,
  })
  const sown = await tellSample(loci, new Date(endedAt))
  keep({ endedAt, sown })
  return sown
}

export function shownSown({ memories, cycles, evictions, outcomes }: Sown): string {
  return `${memories} memories, ${cycles} cycles, ${evictions} evictions, ${outcomes} outcomes`
}

/**
 * The sample as it happens to a service that holds nothing yet; `endedAt` is when its hour ends. A cycle is of the
 * moment at which it runs, so all of them are of now; `reach` waits for a moment, for who has the time.
 */
export async function tellSample(loci: Loci, endedAt: Date, reach = async (_at: Date) => {}): Promise<Sown> {
  const service = loci.service()
  const agent = service.user(AGENT)
  const at = (minute: number) => new Date(endedAt.getTime() - (demo.minutes - minute) * MINUTE_MS).toISOString()
  const daemon = await agent.daemon()
  const operator = await asOperator(service, AGENT)
  await operator.call('PUT /v1/working-memory/config', { body: { capacity: demo.capacity } })
  await remember(agent, demo.memories, at)
  // What two customers said themselves is kept with them too, so that there are people to list and to forget.
  for (const [actor, name] of [
    ['Ada', 'ada'],
    ['Bram', 'bram'],
  ] as const)
    await remember(
      service.user(name),
      demo.memories.filter((memory) => memory.actor === actor),
      at,
    )
  for (const { key, value, pinned } of demo.slots) await agent.slots.put(key, value, { pinned })
  for (const [key, value] of Object.entries(demo.entries))
    await daemon.call('PUT /v1/kv/entries/{key}', { path: { key }, body: { value } })
  await runCycles(agent, at, reach)
  for (const [number, { minute, ...outcome }] of demo.outcomes.entries()) {
    const ended = outcome.outcome as 'success'
    await agent.reportOutcome({
      ...outcome,
      outcome: ended,
      occurredAt: at(minute),
      sourceEventId: `demo:outcome:${number}`,
    })
  }
  const { evictions } = await agent.slots.stats()
  return { memories: demo.memories.length, cycles: demo.cycles.length, evictions, outcomes: demo.outcomes.length }
}

type Clock = (minute: number) => string

async function remember(user: User, memories: typeof demo.memories, at: Clock): Promise<void> {
  await user.rememberAll(
    memories.map(({ minute, ...memory }, number) => ({
      ...memory,
      occurredAt: at(minute),
      sourceEventId: `demo:memory:${number}`,
    })),
  )
}

/** The key of each run makes it one, however often a start that was cut off begins again. */
async function runCycles(agent: User, at: Clock, reach: (at: Date) => Promise<void>): Promise<void> {
  for (const [number, { minute, focus, observations }] of demo.cycles.entries()) {
    await reach(new Date(at(minute)))
    const seen = observations.map(({ dueAtMinute, ...observation }: DemoObservation) => ({
      ...observation,
      occurredAt: at(minute),
      ...(dueAtMinute === undefined ? {} : { dueAt: at(dueAtMinute) }),
    }))
    await agent.cycle(
      { ...(focus ? { focus } : {}), observations: seen },
      { idempotencyKey: `loci-up-demo-${at(0)}-${number}` },
    )
  }
}

interface DemoObservation {
  content: string
  actor: string
  contextId: string
  key?: string
  ttlMs?: number
  dueAtMinute?: number
}
