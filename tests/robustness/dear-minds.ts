// The dearest requests of memory, cycles, projections and advice that we know of: long texts of many different words
// over as many records as the free plan has, and whole arrays.

import { mapWidth } from '../world/report.ts'
import type { WorldTenant } from '../world/tenants.ts'
import { plainClient } from './plain-client.ts'

export interface DearMind {
  name: string
  method: string
  path: string
  /** `{n}` in it stands for the variant, so that nothing is a repeat. */
  body?: string
  variants: number
  isPartner?: boolean
  headers?: Record<string, string>
  streamMs?: number
  burst?: number
  /** What must be there before it is dear. */
  fill(url: string, service: WorldTenant): Promise<void>
}

const QUERY_CHARACTERS = 8_000
const RECORD_CHARACTERS = 600
const BATCH = 100
const OBSERVATIONS = 100
const OBSERVATION_CHARACTERS = 2_000
const CYCLES = 200
/** By each of them, of a timeline. */
const HEARD = 7
const PROJECTIONS = 500
/** Of each, where the array is to have 464 KB. */
const INTENT_CHARACTERS = 765
const STREAM_MS = 300
const TOOLS = 1_000
const VARIANTS = 200

/** `records`: in the database that recall and cycles read. */
export function dearMinds(records: number): DearMind[] {
  const fillRecords = async (url: string, service: WorldTenant) => {
    const batches = Array.from({ length: Math.floor(records / BATCH) }, (_, n) => n)
    await mapWidth(batches, 2, (batch) =>
      post(url, '/v1/memory/records/batch', capabilityOf(service), {
        records: Array.from({ length: BATCH }, (_, n) => ({
          content: wordsFrom(batch * BATCH + n, RECORD_CHARACTERS),
          contextId: `chat ${batch}`,
        })),
      }),
    )
  }
  const post1 = { method: 'POST', variants: 1 }
  return [
    {
      ...{ ...post1, name: `recall with ${QUERY_CHARACTERS} characters`, path: '/v1/memory/recall', fill: fillRecords },
      body: JSON.stringify({ query: wordsFrom(3, QUERY_CHARACTERS), limit: 200 }),
    },
    {
      ...{ method: 'POST', name: `cycles with ${OBSERVATIONS} observations`, path: '/v1/cognitive/cycles' },
      ...{ variants: VARIANTS, fill: fillRecords },
      body: JSON.stringify({
        focus: wordsFrom(5, QUERY_CHARACTERS),
        observations: Array.from({ length: OBSERVATIONS }, (_, n) => ({
          content: `{n} ${n} ${wordsFrom(7 * n, OBSERVATION_CHARACTERS)}`,
        })),
      }),
    },
    {
      ...{ method: 'GET', name: `timelines of ${CYCLES} cycles`, variants: 1 },
      path: `/v1/cognitive/timeline?content=true&limit=${CYCLES}`,
      async fill(url, service) {
        for (let n = 0; n < CYCLES; n += 1)
          await post(url, '/v1/cognitive/cycles', capabilityOf(service), {
            observations: Array.from({ length: HEARD }, (_, at) => ({
              content: wordsFrom(n * HEARD + at, RECORD_CHARACTERS),
            })),
          })
      },
    },
    {
      ...{ method: 'POST', name: `arrays of ${PROJECTIONS} projections`, path: '/v1/partner/projections' },
      ...{ variants: VARIANTS, isPartner: true, fill: async () => {} },
      body: JSON.stringify(Array.from({ length: PROJECTIONS }, (_, n) => outcomeOf(`{n} ${n}`, n))),
    },
    {
      ...{ method: 'POST', name: 'projections of 464 KB', path: '/v1/partner/projections' },
      ...{ variants: VARIANTS / 10, isPartner: true, fill: async () => {} },
      body: JSON.stringify(
        Array.from({ length: PROJECTIONS }, (_, n) => outcomeOf(`large {n} ${n}`, n, INTENT_CHARACTERS)),
      ),
    },
    {
      // Every record that was stored is an event: all of them, again and again.
      ...{ method: 'GET', name: 'event replay', path: '/v1/events', variants: 1, fill: fillRecords },
      ...{ headers: { 'last-event-id': '0' }, streamMs: STREAM_MS },
    },
    {
      ...{ ...post1, name: `ranks of ${TOOLS} tools`, path: '/v1/advice/tools:rank', isPartner: true },
      async fill(url, service) {
        for (let from = 0; from < TOOLS; from += PROJECTIONS)
          await post(
            url,
            '/v1/partner/projections',
            partnerOf(service),
            Array.from({ length: PROJECTIONS }, (_, n) => outcomeOf(`fill ${from + n}`, from + n)),
          )
      },
      body: JSON.stringify({
        ...{ task_class: 'support', source_event_id: 'ask', run_id: 'run', scope: null, limit: 100 },
        ...{ task_intent: wordsFrom(11, QUERY_CHARACTERS), explain: true },
      }),
    },
  ]
}

function outcomeOf(event: string, n: number, characters = 200): object {
  return {
    ...{ projection_class: 'tool_outcome', source_event_id: event, task_class: 'support' },
    ...{
      task_intent: wordsFrom(n, characters),
      tools: [{ tool_id: `tool-${n}`, outcome: n % 3 ? 'success' : 'failure' }],
    },
  }
}

const SYLLABLES = 'ka ri mo ne su ta lo pe vi da ro ge hu ma ti so le ba no fi'.split(' ')

/** Words of three syllables, others with each number, until it is so long. */
function wordsFrom(number: number, characters: number): string {
  let text = ''
  for (let n = number * 31; text.length < characters; n += 1)
    text += `${[n, n / 20, n / 400].map((part) => SYLLABLES[Math.floor(part) % SYLLABLES.length]).join('')} `
  return text.slice(0, characters).trim()
}

const capabilityOf = ({ capability }: WorldTenant) => ({ 'x-loci-capability': capability.token })
const partnerOf = ({ partner }: WorldTenant) => ({ authorization: `Bearer ${partner.token}` })

const TRIES_MAX = 50

/** Again while it is refused for now: the cell may not have heard of a new credential, or is busy. */
async function post(url: string, path: string, headers: Record<string, string>, body: unknown): Promise<void> {
  const client = plainClient()
  for (let tries = 1; ; tries += 1) {
    const outcome = await client.send(url, { method: 'POST', path, headers, body: JSON.stringify(body) })
    if (outcome.kind === 'answer' && outcome.status === 200) break
    if (tries === TRIES_MAX) throw new Error(`filling: ${path}: ${JSON.stringify(outcome).slice(0, 500)}`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  client.close()
}
