// The working memory of a user: the few things that are in mind, and what left and why.

import type { CallOptions, Client } from './client.ts'
import type {
  DaemonOperations,
  EvictionList,
  Slot,
  SlotBatch,
  SlotBatchResult,
  SlotDeleted,
  SlotList,
  SlotPatch,
  SlotSettings,
  SlotStatistics,
  SlotsCleared,
  SlotsRestored,
  SlotWrite,
  SlotWritten,
} from './daemon.ts'
import { orUndefined } from './error.ts'
import { type Paged, paged } from './pages.ts'

export type Options = Omit<CallOptions, 'headers' | 'repeatable'>

/** What a list can be narrowed by; its pages are ours to turn. */
export type Filter<Name extends keyof DaemonOperations> = DaemonOperations[Name]['given'] extends {
  query?: infer Query
}
  ? Omit<NonNullable<Query>, 'cursor'>
  : Record<never, never>

/** What must hold for a write to be done; else it is refused with VERSION_CONFLICT. */
export interface Precondition {
  /** The version that is expected. */
  ifVersion?: number | undefined
  /** There must be none yet. */
  ifNew?: boolean | undefined
}

/** The daemon of the service, with the database in the headers of its calls. */
export type Ask = () => Promise<Client<DaemonOperations>>

export class Slots {
  readonly #daemon: Ask

  constructor(daemon: Ask) {
    this.#daemon = daemon
  }

  /** What is in mind, with the capacity. */
  async list(options: Options = {}): Promise<SlotList> {
    return (await (await this.#daemon()).call('GET /v1/working-memory/slots', options)).body
  }

  /** Undefined where there is none of that key. */
  async get(key: string, options: Options = {}): Promise<Slot | undefined> {
    const daemon = await this.#daemon()
    return orUndefined(daemon.call('GET /v1/working-memory/slots/{key}', { ...options, path: { key } }))
  }

  /** Puts something in mind. Over capacity another one leaves: `evicted` says which, and why. */
  async put(
    key: string,
    value: unknown,
    { ifVersion, ifNew, ...given }: Omit<SlotWrite, 'value'> & Precondition = {},
    options: Options = {},
  ): Promise<SlotWritten> {
    const daemon = await this.#daemon()
    const call = { ...options, path: { key }, body: { value, ...given }, headers: precondition({ ifVersion, ifNew }) }
    return (await daemon.call('PUT /v1/working-memory/slots/{key}', call)).body
  }

  /** Changes some of its fields. */
  async patch(
    key: string,
    { ifVersion, ...change }: SlotPatch & Pick<Precondition, 'ifVersion'>,
    options: Options = {},
  ): Promise<SlotWritten> {
    const daemon = await this.#daemon()
    const call = { ...options, path: { key }, body: change, headers: precondition({ ifVersion }) }
    return (await daemon.call('PATCH /v1/working-memory/slots/{key}', call)).body
  }

  async delete(
    key: string,
    { ifVersion, ...options }: Options & Pick<Precondition, 'ifVersion'> = {},
  ): Promise<SlotDeleted> {
    const daemon = await this.#daemon()
    const call = { ...options, path: { key }, headers: precondition({ ifVersion }) }
    return (await daemon.call('DELETE /v1/working-memory/slots/{key}', call)).body
  }

  /** Several puts and deletes, all or nothing. */
  async batch(operations: SlotBatch['operations'], options: Options = {}): Promise<SlotBatchResult> {
    const daemon = await this.#daemon()
    return (await daemon.call('POST /v1/working-memory/slots/batch', { ...options, body: { operations } })).body
  }

  /** Empties the mind but for what is pinned. `undo.token` brings it back within 24 hours. */
  async clear({
    dryRun = false,
    includePinned = false,
    ...options
  }: Options & { dryRun?: boolean; includePinned?: boolean } = {}): Promise<SlotsCleared> {
    const daemon = await this.#daemon()
    const query = { ...(dryRun ? { dryRun: 'true' as const } : {}), ...(includePinned ? PINNED_TOO : {}) }
    return (await daemon.call('POST /v1/working-memory/slots/clear', { ...options, query })).body
  }

  /** Takes a clear back by its token, or brings a former version of a slot back. */
  async restore(
    what: { undoToken: string } | { key: string; version: number },
    options: Options = {},
  ): Promise<SlotsRestored> {
    const daemon = await this.#daemon()
    return (await daemon.call('POST /v1/working-memory/slots/restore', { ...options, body: what })).body
  }

  async stats(options: Options = {}): Promise<SlotStatistics> {
    return (await (await this.#daemon()).call('GET /v1/working-memory/stats', options)).body
  }

  /** The configuration in force, and what each of its keys may be. */
  async settings(options: Options = {}): Promise<SlotSettings> {
    return (await (await this.#daemon()).call('GET /v1/working-memory/settings', options)).body
  }

  /** Every version of a slot, newest first, also of one that has left. */
  history(key: string, options: Options = {}): Paged<Slot> {
    return paged(async (cursor) => {
      const daemon = await this.#daemon()
      const call = { ...options, path: { key }, query: { cursor } }
      const { body } = await daemon.call('GET /v1/working-memory/slots/{key}/history', call)
      return { items: body.versions, next: body.nextCursor ?? undefined }
    })
  }

  /** What left, newest first, and why. */
  evictions(options: Options = {}): Paged<EvictionList['evictions'][number]> {
    return paged(async (cursor) => {
      const daemon = await this.#daemon()
      const { body } = await daemon.call('GET /v1/working-memory/evictions', { ...options, query: { cursor } })
      return { items: body.evictions, next: body.nextCursor ?? undefined }
    })
  }
}

const PINNED_TOO = { includePinned: 'true' as const }

export function precondition({ ifVersion, ifNew }: Precondition): { [header: string]: string } {
  return {
    ...(ifVersion === undefined ? {} : { 'If-Match': `"${ifVersion}"` }),
    ...(ifNew ? { 'If-None-Match': '*' } : {}),
  }
}
