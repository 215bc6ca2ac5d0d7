// One user of a service, which is one of its databases: what is remembered of them, what is in mind, what helped.

import type { Client } from './client.ts'
import type {
  AdviceRequest,
  CognitiveSettings,
  Cycle,
  CycleDecisions,
  CycleRan,
  CycleRun,
  CycleStats,
  DaemonOperations,
  Record as MemoryRecord,
  Observation,
  OutcomeResult,
  OutcomeWrite,
  RecallRequest,
  RecallResult,
  RecordDeleted,
  RecordList,
  RecordStored,
  RecordWrite,
  ToolRankResult,
} from './daemon.ts'
import { Entries } from './entries.ts'
import { orUndefined } from './error.ts'
import { type FollowOptions, follow, type ServiceEvent } from './events.ts'
import { type Paged, paged } from './pages.ts'
import { type Ask, type Filter, type Options, Slots } from './slots.ts'

export type Hit = RecallResult['results'][number] & {
  /** Which words of the question it covers, and by which of its own: `language (Dutch), Ada`. */
  why: string
}

export type Hits = Hit[] & {
  /** Nothing that is remembered answers the question; `reason` says it in a sentence. */
  readonly abstained: boolean
  readonly reason: string | undefined
  /** Where it abstained: the most relevant there is. */
  readonly nearest: NonNullable<RecallResult['nearest']>
  /** Of `recordIds`: where these stand, also below the cut, and why. */
  readonly named: NonNullable<RecallResult['named']>
  /** What to give as `cursor` for those after these; undefined at the end. */
  readonly nextCursor: string | undefined
  readonly requestId: string | undefined
  /** As the server sent it. */
  readonly answer: RecallResult
}

/** How tools did in a task: several in `tools`, or one by its name. */
export type Outcome = Omit<OutcomeWrite, 'tools'> &
  ({ tools: OutcomeWrite['tools'] } | ({ tool: string } & Omit<OutcomeWrite['tools'][number], 'toolId'>))

type RecordFilter = Filter<'GET /v1/memory/records'>
type CycleFilter = Filter<'GET /v1/cognitive/cycles'>

export class User {
  readonly name: string
  readonly slots: Slots
  readonly kv: Entries
  readonly #daemon: Ask

  constructor(name: string, daemon: Ask) {
    this.name = name
    this.slots = new Slots(daemon)
    this.kv = new Entries(daemon)
    this.#daemon = daemon
  }

  /** Durable and recallable when it resolves. */
  async remember(
    content: string,
    given: Omit<RecordWrite, 'content'> = {},
    options: Options & { idempotencyKey?: string | undefined } = {},
  ): Promise<RecordStored> {
    const daemon = await this.#daemon()
    // A source that is known is answered with its record.
    const repeatable = given.sourceEventId !== undefined && options.idempotencyKey === undefined
    const call = { ...options, repeatable, body: { content, ...given } }
    return (await daemon.call('POST /v1/memory/records', call)).body
  }

  /** Several, all or nothing. */
  async rememberAll(
    records: (string | RecordWrite)[],
    options: Options & { idempotencyKey?: string | undefined } = {},
  ): Promise<RecordStored[]> {
    const daemon = await this.#daemon()
    const body = { records: records.map((record) => (typeof record === 'string' ? { content: record } : record)) }
    return (await daemon.call('POST /v1/memory/records/batch', { ...options, body })).body.records
  }

  /** Best first. Empty, and `abstained`, where nothing that is remembered answers the question. */
  async recall(query: string, given: Omit<RecallRequest, 'query'> = {}, options: Options = {}): Promise<Hits> {
    const daemon = await this.#daemon()
    // It changes nothing, so it may be sent again.
    const call = { ...options, repeatable: true, body: { query, explain: true, ...given } }
    const { body, requestId } = await daemon.call('POST /v1/memory/recall', call)
    const hits = body.results.map((result) => ({ ...result, why: whyOf(result.explain?.words ?? []) }))
    const { abstained, reason, nearest = [], named = [] } = body
    const nextCursor = body.nextCursor ?? undefined
    return Object.assign(hits, { abstained, reason, nearest, named, nextCursor, requestId, answer: body })
  }

  /** A memory by its id, also one that was superseded; undefined where there is none. */
  async memory(id: string, options: Options = {}): Promise<MemoryRecord | undefined> {
    const daemon = await this.#daemon()
    return orUndefined(daemon.call('GET /v1/memory/records/{id}', { ...options, path: { id } }))
  }

  /** Newest first, unless the filter says otherwise. */
  memories(filter: RecordFilter = {}, options: Options = {}): Paged<MemoryRecord> {
    return paged(async (cursor) => {
      const daemon = await this.#daemon()
      const { body } = await daemon.call('GET /v1/memory/records', { ...options, query: { ...filter, cursor } })
      return { items: body.records, next: body.nextCursor ?? undefined }
    })
  }

  /** How many there are: with a filter, of those that hold; `totalIsAtLeast` where more were not counted. */
  async countMemories(
    filter: Omit<RecordFilter, 'limit' | 'order'> = {},
    options: Options = {},
  ): Promise<Pick<RecordList, 'total' | 'totalIsAtLeast'>> {
    const daemon = await this.#daemon()
    const { body } = await daemon.call('GET /v1/memory/records', { ...options, query: { ...filter, limit: 1 } })
    return { total: body.total, totalIsAtLeast: body.totalIsAtLeast }
  }

  /** Erases it wherever it stands; the answer says where it was found, and is the receipt. */
  async forget(memory: string | { id: string }, options: Options = {}): Promise<RecordDeleted> {
    const daemon = await this.#daemon()
    const id = typeof memory === 'string' ? memory : memory.id
    return (await daemon.call('DELETE /v1/memory/records/{id}', { ...options, path: { id } })).body
  }

  /** Takes in what was observed, decides what stays in mind, and says why. */
  async cycle(
    { observations, ...run }: Omit<CycleRun, 'observations'> & { observations?: (string | Observation)[] } = {},
    options: Options & { idempotencyKey?: string | undefined } = {},
  ): Promise<CycleRan> {
    const daemon = await this.#daemon()
    const seen = observations?.map((one) => (typeof one === 'string' ? { content: one } : one))
    const call = { ...options, body: { ...run, ...(seen ? { observations: seen } : {}) } }
    return (await daemon.call('POST /v1/cognitive/cycles', call)).body
  }

  /** Newest first. */
  cycles(filter: CycleFilter = {}, options: Options = {}): Paged<Cycle> {
    return paged(async (cursor) => {
      const daemon = await this.#daemon()
      const { body } = await daemon.call('GET /v1/cognitive/cycles', { ...options, query: { ...filter, cursor } })
      return { items: body.cycles, next: body.nextCursor ?? undefined }
    })
  }

  async cycleOf(id: string, options: Options = {}): Promise<Cycle | undefined> {
    const daemon = await this.#daemon()
    return orUndefined(daemon.call('GET /v1/cognitive/cycles/{id}', { ...options, path: { id } }))
  }

  /** What a cycle decided, with the reasons. */
  decisions(cycleId: string, options: Options = {}): Paged<CycleDecisions['decisions'][number]> {
    return paged(async (cursor) => {
      const daemon = await this.#daemon()
      const call = { ...options, path: { id: cycleId }, query: { cursor } }
      const { body } = await daemon.call('GET /v1/cognitive/cycles/{id}/decisions', call)
      return { items: body.decisions, next: body.nextCursor ?? undefined }
    })
  }

  async cycleStats(options: Options = {}): Promise<CycleStats> {
    return (await (await this.#daemon()).call('GET /v1/cognitive/stats', options)).body
  }

  /** The configuration of cycles in force, and what each of its keys may be. */
  async cycleSettings(options: Options = {}): Promise<CognitiveSettings> {
    return (await (await this.#daemon()).call('GET /v1/cognitive/settings', options)).body
  }

  /** Which tools to try for a task, by what was told of them, and which the policy denies. */
  async rankTools(
    { sourceEventId = newEventId(), ...given }: Omit<AdviceRequest, 'sourceEventId'> & { sourceEventId?: string },
    options: Options = {},
  ): Promise<ToolRankResult> {
    const daemon = await this.#daemon()
    const call = { ...options, repeatable: true, body: { ...given, sourceEventId } }
    return (await daemon.call('POST /v1/advice/rank', call)).body
  }

  /** So that ranking learns. The same `sourceEventId` is counted once; it is made up where it is not given. */
  async reportOutcome(outcome: Outcome, options: Options = {}): Promise<OutcomeResult> {
    const daemon = await this.#daemon()
    // The source makes it one, however often it arrives.
    const call = { ...options, repeatable: true, body: { sourceEventId: newEventId(), ...writtenOf(outcome) } }
    const { body } = await daemon.call('POST /v1/advice/outcomes', call)
    return (Array.isArray(body) ? body[0] : body) as OutcomeResult
  }

  /** What happens in this database, from now on or after an event. Ends with its signal, or with `break`. */
  async *events(options: FollowOptions = {}): AsyncGenerator<ServiceEvent, void, undefined> {
    for await (const event of follow(this.#daemon, '/v1/events', options))
      if (event.database === undefined || event.database === this.name) yield event
  }

  /** The calls below these verbs, by `METHOD /path`, in this database. */
  daemon(): Promise<Client<DaemonOperations>> {
    return this.#daemon()
  }
}

function writtenOf(outcome: Outcome): OutcomeWrite {
  if ('tools' in outcome) return outcome
  const { tool, outcome: ended, latencyMs, costUsd, errorCode, ...task } = outcome
  return { ...task, tools: [{ toolId: tool, outcome: ended, latencyMs, costUsd, errorCode }] }
}

function whyOf(words: { word: string; covered: number; by: string | null }[]): string {
  return words
    .filter(({ covered }) => covered > 0)
    .map(({ word, by }) => (by === null || by === word ? word : `${word} (${by})`))
    .join(', ')
}

function newEventId(): string {
  return `sdk:${crypto.randomUUID()}`
}
