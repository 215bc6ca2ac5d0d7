// What writers of memory do: store one, several, under a key, in the place of another; erase; and ask for what they
// were told is there, or gone. Every content is a word that nobody else writes. In the ledger a record is open, closed
// (superseded) or null (erased).

import { newId } from '@loci/contract/ids.ts'
import type { Change } from './kv-ledger.ts'
import type { Maker, Operation, Writer } from './kv-writers.ts'

interface Live {
  mark: string
  id: string
  key?: string
}

/** Marks of batches that must be refused end with it. */
export const REFUSED = 'zzz'
const RECORDS = '/v1/memory/records'
const BATCH = 5
/** Some stay, to be changed by the next operations and asked for. */
const LIVE_MIN = 8
const GONE_MAX = 20

export function recordOperations({ party, random, number, name }: Writer): Maker {
  const database = `${name}-${number % 2}`
  const headers = { 'x-loci-capability': party.token, 'x-loci-database': database }
  const live: Live[] = []
  const gone: string[] = []
  const keys = new Map<string, string>()
  let count = 0
  const nextCount = () => {
    count += 1
    return count
  }
  const idOf = (mark: string) => `${party.instanceId} ${database} ${mark}`
  const newMark = () => `${name}${number}q${nextCount()}q${random.text(6)}`
  const takeLive = () => live.splice(random.below(live.length), 1)[0] as Live
  const becomes = (mark: string, value: string | null): Change => ({ id: idOf(mark), value })
  const record = (mark: string, more: object = {}) => ({
    content: contentOf(mark),
    contextId: `watch ${number}`,
    ...more,
  })
  const post = (path: string, body: object, more: Record<string, string> = {}) => ({
    ...{ method: 'POST', path, headers: { ...headers, ...more }, body: JSON.stringify(body) },
  })
  const once = () => ({ 'idempotency-key': `${name}-${number}-${nextCount()}` })

  /** `former`: what it takes the place of, by its id or by their key. */
  const store = (former?: Live, key?: string): Operation => {
    const mark = newMark()
    if (key !== undefined) keys.set(mark, key)
    const supersedes = former && key === undefined ? { supersedes: former.id } : {}
    const body = record(mark, { ...supersedes, ...(key === undefined ? {} : { key }), sourceEventId: `event ${mark}` })
    const changes = [becomes(mark, 'open'), ...(former ? [becomes(former.mark, 'closed')] : [])]
    return { changes, request: post(RECORDS, body) }
  }
  const keyed = (): Operation => {
    const former = live.length > LIVE_MIN ? live.find(({ key }) => key !== undefined) : undefined
    if (!former) return store(undefined, `fact ${number} ${nextCount()}`)
    live.splice(live.indexOf(former), 1)
    return store(former, former.key)
  }
  const batch = (): Operation => {
    const marks = Array.from({ length: BATCH }, newMark)
    const former = live.length > LIVE_MIN && random.chance(0.5) ? takeLive() : undefined
    const records = marks.map((mark, at) => record(mark, former && at === 2 ? { supersedes: former.id } : {}))
    const changes = [...marks.map((mark) => becomes(mark, 'open')), ...(former ? [becomes(former.mark, 'closed')] : [])]
    return { changes, request: post(`${RECORDS}/batch`, { records }, once()) }
  }
  /** The last takes the place of a record that is not there: refused, and without effect. */
  const refused = (): Operation => {
    const marks = Array.from({ length: BATCH }, () => `${newMark()}${REFUSED}`)
    const records = marks.map((mark, at) => record(mark, at === BATCH - 1 ? { supersedes: newId('mem') } : {}))
    const changes = marks.map((mark) => becomes(mark, 'open'))
    return { changes, request: post(`${RECORDS}/batch`, { records }), refusal: 404, isOnce: true }
  }
  const remove = (): Operation => {
    const { mark, id } = takeLive()
    return {
      changes: [becomes(mark, null)],
      request: { method: 'DELETE', path: `${RECORDS}/${id}`, headers },
      // It was there and is nobody else's: a repeat that does not find it was done before.
      alsoDone: [404],
    }
  }
  const recall = (mark: string, isThere: boolean): Operation => ({
    changes: [],
    request: post('/v1/memory/recall', questionOf(mark)),
    wrongIn: (body) =>
      isIn(body, mark) === isThere ? undefined : `recall ${isThere ? 'misses' : 'shows the former'} ${idOf(mark)}`,
  })
  return {
    next() {
      const dice = random()
      const hasLive = live.length > LIVE_MIN
      if (dice < 0.2) return batch()
      if (dice < 0.25) return refused()
      if (dice < 0.4) return keyed()
      if (hasLive && dice < 0.52) return store(takeLive())
      if (hasLive && dice < 0.62) return remove()
      if (hasLive && dice < 0.77) return recall(random.pick(live).mark, true)
      if (gone.length > 0 && dice < 0.82) return recall(random.pick(gone), false)
      return store()
    },
    hold(changes, body) {
      const told = changes.some(({ value }) => value === 'open') ? (JSON.parse(body) as Partial<Stored>) : {}
      const ids = new Map([...(told.records ?? []), told as Stored].map(({ id, content }) => [content, id]))
      for (const { id, value } of changes) {
        const mark = id.slice(idOf('').length)
        if (value !== 'open') gone.push(mark)
        else live.push({ mark, id: ids.get(contentOf(mark)) as string, ...keyOf(mark) })
      }
      if (gone.length > GONE_MAX) gone.splice(0, gone.length - GONE_MAX)
    },
  }

  function keyOf(mark: string): { key?: string } {
    const key = keys.get(mark)
    keys.delete(mark)
    return key === undefined ? {} : { key }
  }
}

interface Stored {
  id: string
  content: string
  records?: Stored[]
}

export function contentOf(mark: string): string {
  return `The harbour watch wrote down ${mark}`
}

export function questionOf(mark: string): object {
  return { query: `harbour watch ${mark}`, limit: 5 }
}

/** Does a recall show it? */
export function isIn(body: string, mark: string): boolean {
  const { results } = JSON.parse(body) as { results: { content: string }[] }
  return results.some(({ content }) => content === contentOf(mark))
}
