// Partners that tell what happened while processes die: single projections and arrays, repeats, retractions after and
// before what they retract, arrays that must be refused, and requests whose answer nobody waited for. The ledger knows
// of each projection what the table must have.

import type { LociProcess } from '../world/process.ts'
import { plainClient } from './plain-client.ts'
import { type Random, seeded } from './seeded.ts'

export interface Party {
  instanceId: string
  token: string
}

/** What must be there of a projection, by the id that its partner gave it. */
export interface Told {
  instanceId: string
  id: string
  class: string
  /** As it was answered; undefined: nobody knows whether it is there. */
  seq: number | undefined
  /** Something acknowledged takes it back. */
  isTakenBack: boolean
  /** Of the array it came with: all of them or none. */
  array: string | undefined
  /** Its array was refused. */
  isRefused: boolean
}

export interface Tellers {
  told: Told[]
  /** What an answer should not have said. */
  wrong: string[]
  acked(): number
  repeated(): number
  /** Of repeats, refused arrays and what takes something back, the fewest. */
  ofEachKind(): number
  ambiguous(): number
  stop(): Promise<void>
}

interface Envelope extends Record<string, unknown> {
  projection_id: string
  projection_class: string
  source_event_id: string
  supersedes?: string
}

interface TellerOptions {
  parties: Party[]
  daemons: () => LociProcess[]
  tellers: number
  seed: number
  name: string
}

const CLASSES = ['event', 'tool_outcome', 'fact', 'tool_outcome', 'fact']
const RETRY_MS = 100
/** Two minutes: a fail-over of three machines takes half of one. */
const TRIES_MAX = 1_200

export function startTellers({ parties, daemons, tellers, seed, name }: TellerOptions): Tellers {
  const told: Told[] = []
  const wrong: string[] = []
  const counts = { acked: 0, repeated: 0, refused: 0, takenBack: 0, ambiguous: 0 }
  let isOver = false
  const all = Array.from({ length: tellers }, (_, number) =>
    tell(parties[number % parties.length] as Party, number, seeded(seed + number)),
  )
  return {
    told,
    wrong,
    acked: () => counts.acked,
    repeated: () => counts.repeated,
    ofEachKind: () => Math.min(counts.repeated, counts.refused, counts.takenBack),
    ambiguous: () => counts.ambiguous,
    async stop() {
      isOver = true
      await Promise.all(all)
    },
  }

  async function tell(party: Party, number: number, random: Random): Promise<void> {
    const client = plainClient()
    const live: { envelope: Envelope; entry: Told }[] = []
    let count = 0
    let isKnown = false
    const headers = { authorization: `Bearer ${party.token}` }
    const send = (body: unknown) =>
      client.send(random.pick(daemons()).url, {
        ...{ method: 'POST', path: '/v1/partner/projections', headers, body: JSON.stringify(body) },
      })
    const make = (kind: string, more: Partial<Envelope> = {}): Envelope => {
      count += 1
      const mark = `${name}-${number}-${count}`
      return {
        ...{ projection_id: mark, projection_class: kind, source_event_id: `event ${mark}`, task_class: 'watch' },
        ...(kind === 'tool_outcome' ? { tools: [{ tool_id: `t${count % 5}`, outcome: 'success' }] } : {}),
        payload: mark,
        ...more,
      }
    }
    const enter = (envelope: Envelope, array?: string): Told => {
      const entry = {
        ...{ instanceId: party.instanceId, id: envelope.projection_id, class: envelope.projection_class, array },
        ...{ seq: undefined, isTakenBack: false, isRefused: false },
      }
      told.push(entry)
      return entry
    }

    /** Until it is acknowledged; `once`: whoever gets no answer gives up and leaves it open. */
    const deliver = async (envelopes: Envelope[], entries: Told[], once = false): Promise<boolean> => {
      const body = envelopes.length === 1 && entries[0]?.array === undefined ? envelopes[0] : envelopes
      for (let tries = 0; ; tries += 1) {
        const outcome = await send(body)
        if (outcome.kind === 'answer' && outcome.status === 200) {
          const results = [JSON.parse(outcome.body)].flat() as Result[]
          for (const [at, { projectionId, appliedSeq }] of results.entries()) {
            const entry = entries[at] as Told
            if (projectionId !== entry.id) wrong.push(`${entry.id} was answered as ${projectionId}`)
            if (entry.seq !== undefined && entry.seq !== appliedSeq)
              wrong.push(`${entry.id} was ${entry.seq} and is ${appliedSeq}`)
            if (tries === 0 && entry.seq === undefined && results[at]?.duplicate)
              wrong.push(`${entry.id} was sent once and is a duplicate`)
            entry.seq = appliedSeq
          }
          counts.acked += results.length
          isKnown = true
          return true
        }
        const isUnknown = outcome.kind === 'silence' || (outcome.kind === 'answer' && outcome.status === 500)
        if (isUnknown) counts.ambiguous += 1
        // Until the cell has heard of the credential.
        else if (outcome.kind === 'answer' && outcome.status === 401 && !isKnown) tries = 0
        else if (outcome.kind === 'answer' && outcome.status !== 503 && outcome.status !== 429) {
          wrong.push(`${entries[0]?.id}: ${outcome.status} ${outcome.body}`)
          return false
        }
        if (isUnknown && once) return false
        if (tries > TRIES_MAX) {
          wrong.push(`${entries[0]?.id} was never taken: ${JSON.stringify(outcome)}`)
          return false
        }
        await sleep(RETRY_MS)
      }
    }

    const one = async (envelope: Envelope): Promise<Told> => {
      const entry = enter(envelope)
      if (await deliver([envelope], [entry])) live.push({ envelope, entry })
      return entry
    }
    const array = async () => {
      const envelopes = Array.from({ length: 2 + random.below(19) }, () => make(random.pick(CLASSES)))
      const label = `${name}-${number}-array-${count}`
      const entries = envelopes.map((envelope) => enter(envelope, label))
      await deliver(envelopes, entries, random.chance(0.5))
    }
    const repeat = async () => {
      const { envelope, entry } = random.pick(live)
      counts.repeated += 1
      await deliver([envelope], [entry])
    }
    /** The last contradicts what is there: the whole of it is refused. */
    const refused = async () => {
      const { envelope } = random.pick(live)
      const envelopes = [make('fact'), make('event'), { ...envelope, payload: 'another' }]
      for (const one of envelopes.slice(0, 2)) enter(one, 'refused').isRefused = true
      const outcome = await send(envelopes)
      if (outcome.kind === 'answer' && [200, 409].includes(outcome.status)) counts.refused += 1
      if (outcome.kind === 'answer' && outcome.status === 200) wrong.push(`a conflict was taken: ${outcome.body}`)
    }
    const retract = async () => {
      // A retraction cannot be taken back.
      const at = live.findIndex((one) => one.entry.class !== 'retraction')
      const [{ entry }] = live.splice(Math.max(0, at), 1) as [(typeof live)[number]]
      if (entry.class === 'retraction') return
      const by = random.chance(0.5) ? make('retraction') : make('fact')
      await one({ ...by, supersedes: entry.id })
      entry.isTakenBack = true
      counts.takenBack += 1
    }
    const early = async () => {
      const late = make(random.pick(CLASSES))
      await one(make('retraction', { supersedes: late.projection_id }))
      const entry = await one(late)
      live.pop()
      entry.isTakenBack = true
      counts.takenBack += 1
    }

    while (!isOver) {
      const dice = random()
      if (dice < 0.25) await array()
      else if (dice < 0.35 && live.length > 0) await repeat()
      else if (dice < 0.4 && live.length > 0) await refused()
      else if (dice < 0.5 && live.length > 8) await retract()
      else if (dice < 0.55) await early()
      else await one(make(random.pick(CLASSES)))
      if (live.length > 40) live.splice(0, 20)
    }
    client.close()
  }
}

interface Result {
  projectionId: string
  appliedSeq: number
  duplicate: boolean
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
