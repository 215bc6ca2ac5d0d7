// Records by database, written in batches. Each has the id of its source, so a batch may be sent again: what is there
// is answered, not stored.

import type { RecordStored, RecordWrite } from '@loci/sdk/daemon.ts'
import { LociError } from '@loci/sdk/error.ts'
import type { Service } from '@loci/sdk/services.ts'
import type { Tally } from './report.ts'

const BATCH_MAX = 100
/** A request has room for a megabyte. */
const BATCH_BYTES_MAX = 700_000
/** What waits for its batch, over all databases. */
const WAITING_MAX = 5_000
const WAITING_BYTES_MAX = 16_000_000
/** Longer than a command: nobody waits for a single batch. */
const PATIENCE = { attemptMs: 60_000, deadlineMs: 300_000, attemptsMax: 12 }
/** At the end, when each database has a rest of its own. */
const WIDTH = 4

export interface Writable {
  record: RecordWrite
  /** Since when it would be forgotten. */
  endsAt: number | undefined
}

export interface Writer {
  add(database: string, records: readonly Writable[]): Promise<void>
  end(): Promise<void>
}

interface Waiting {
  records: Writable[]
  bytes: number
}

export function writerTo(service: Service, tally: Tally, signal: AbortSignal): Writer {
  const waiting = new Map<string, Waiting>()
  let [count, bytes] = [0, 0]

  const flush = async (database: string) => {
    const batch = waiting.get(database)
    if (!batch) return
    waiting.delete(database)
    count -= batch.records.length
    bytes -= batch.bytes
    await store(service, database, batch.records, tally, signal)
  }

  return {
    async add(database, records) {
      for (const record of records) {
        const size = Buffer.byteLength(JSON.stringify(record.record))
        const own = waiting.get(database)
        if (own && (own.records.length >= BATCH_MAX || own.bytes + size > BATCH_BYTES_MAX)) await flush(database)
        const batch = waiting.get(database) ?? { records: [], bytes: 0 }
        batch.records.push(record)
        batch.bytes += size
        waiting.set(database, batch)
        count += 1
        bytes += size
      }
      while (count > WAITING_MAX || bytes > WAITING_BYTES_MAX) await flush(largest(waiting))
    },
    async end() {
      const left = [...waiting.keys()]
      const work = async () => {
        for (let next = left.shift(); next !== undefined; next = left.shift()) await flush(next)
      }
      const ended = await Promise.allSettled(
        Array.from({ length: WIDTH }, () =>
          work().catch((error) => {
            // What is under way ends first, so that the report knows of it; nothing else begins.
            left.length = 0
            throw error
          }),
        ),
      )
      const failed = ended.find(({ status }) => status === 'rejected')
      if (failed?.status === 'rejected') throw failed.reason
    },
  }
}

function largest(waiting: ReadonlyMap<string, Waiting>): string {
  let [name, most] = ['', -1]
  for (const [database, { bytes }] of waiting) if (bytes > most) [name, most] = [database, bytes]
  return name
}

async function store(
  service: Service,
  database: string,
  given: readonly Writable[],
  tally: Tally,
  signal: AbortSignal,
): Promise<void> {
  const now = Date.now()
  const batch = given.filter(({ endsAt }) => endsAt === undefined || endsAt > now)
  for (let gone = given.length - batch.length; gone > 0; gone -= 1)
    tally.skip('record', 'the source would have forgotten it by now', true)
  if (batch.length === 0) return
  const records = batch.map(({ record, endsAt }) =>
    endsAt === undefined ? record : { ...record, ttlMs: endsAt - now },
  )
  const daemon = await service.daemon(database)
  try {
    const call = { ...PATIENCE, repeatable: true, signal, body: { records } }
    const { body, requestId } = await daemon.call('POST /v1/memory/records/batch', call)
    count(body.records, records, requestId, tally)
  } catch (error) {
    if (!(error instanceof LociError) || !isOfOne(error)) throw error
    const at = (error.details as { index?: unknown } | undefined)?.index
    if (batch.length === 1) return tally.skip('record', whyOf(error), true)
    // All or nothing: the others go without the one that is refused.
    const [one, others] =
      typeof at === 'number' && at < batch.length
        ? [batch.slice(at, at + 1), batch.toSpliced(at, 1)]
        : [batch.slice(0, batch.length >> 1), batch.slice(batch.length >> 1)]
    if (typeof at === 'number') tally.skip('record', whyOf(error), true)
    else await store(service, database, one, tally, signal)
    await store(service, database, others, tally, signal)
  }
}

/** Whether it is about a record, and not about who writes, how much, or how often. */
function isOfOne({ code, status }: LociError): boolean {
  return code === 'MEMORY_FORGOTTEN' || code === 'DATA_DAMAGED' || status === 413 || code === 'VALIDATION_ERROR'
}

function whyOf({ code, message }: LociError): string {
  if (code === 'MEMORY_FORGOTTEN') return 'it was forgotten here, and is not learned again'
  return `refused: ${code}, ${message}`
}

/**
 * One that this request stored names it as its source. One whose first answer was lost counts as there already: it is,
 * and nothing tells it from one of an earlier run.
 */
function count(
  answered: readonly RecordStored[],
  sent: readonly RecordWrite[],
  requestId: string | undefined,
  tally: Tally,
): void {
  const seen = new Set<string>()
  let [fresh, known, changed] = [0, 0, 0]
  for (const [at, record] of answered.entries()) {
    const isFresh = 'source' in record && record.source.ref === requestId && !seen.has(record.id)
    seen.add(record.id)
    if (isFresh) fresh += 1
    else {
      known += 1
      if ('content' in record && record.content !== sent[at]?.content) changed += 1
    }
  }
  tally.store(fresh)
  tally.meet(known, changed)
}
