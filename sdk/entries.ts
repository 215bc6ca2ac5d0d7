// The key-value store of a user.

import type { Entry, EntryBatch, EntryBatchResult, EntryDeleted, EntryList, EntryWrite } from './daemon.ts'
import { orUndefined } from './error.ts'
import { type Paged, paged } from './pages.ts'
import { type Ask, type Filter, type Options, type Precondition, precondition } from './slots.ts'

export class Entries {
  readonly #daemon: Ask

  constructor(daemon: Ask) {
    this.#daemon = daemon
  }

  /** Undefined where there is none of that key. */
  async get(key: string, options: Options = {}): Promise<Entry | undefined> {
    const daemon = await this.#daemon()
    return orUndefined(daemon.call('GET /v1/kv/entries/{key}', { ...options, path: { key } }))
  }

  async put(
    key: string,
    value: unknown,
    { ifVersion, ifNew, ...given }: Omit<EntryWrite, 'value'> & Precondition = {},
    options: Options = {},
  ): Promise<Entry> {
    const daemon = await this.#daemon()
    const call = { ...options, path: { key }, body: { value, ...given }, headers: precondition({ ifVersion, ifNew }) }
    return (await daemon.call('PUT /v1/kv/entries/{key}', call)).body
  }

  async delete(
    key: string,
    { ifVersion, ...options }: Options & Pick<Precondition, 'ifVersion'> = {},
  ): Promise<EntryDeleted> {
    const daemon = await this.#daemon()
    const call = { ...options, path: { key }, headers: precondition({ ifVersion }) }
    return (await daemon.call('DELETE /v1/kv/entries/{key}', call)).body
  }

  /** In order of code points, or backwards; with `keysOnly` without values. */
  list(filter: Filter<'GET /v1/kv/entries'> = {}, options: Options = {}): Paged<EntryList['entries'][number]> {
    return paged(async (cursor) => {
      const daemon = await this.#daemon()
      const { body } = await daemon.call('GET /v1/kv/entries', { ...options, query: { ...filter, cursor } })
      return { items: body.entries, next: body.nextCursor ?? undefined }
    })
  }

  /** Several puts and deletes, all or nothing. */
  async batch(operations: EntryBatch['operations'], options: Options = {}): Promise<EntryBatchResult> {
    const daemon = await this.#daemon()
    return (await daemon.call('POST /v1/kv/entries/batch', { ...options, body: { operations } })).body
  }
}
