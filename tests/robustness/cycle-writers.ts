// What writers of cycles do: each runs cycles with one observation that nobody else makes and the same mark as
// metadata, most of them with an Idempotency-Key. Some share a database, so that cycles meet. In the ledger the record
// is there and the cycle is whole.

import type { Maker, Writer } from './kv-writers.ts'

const DATABASES = 4

export function cycleOperations({ party, random, number, name }: Writer): Maker {
  const database = `${name}-${number % DATABASES}`
  const headers = { 'x-loci-capability': party.token, 'x-loci-database': database }
  const idOf = (what: string) => `${party.instanceId} ${database} ${what}`
  let count = 0
  return {
    next() {
      count += 1
      const mark = `${name}${number}q${count}q${random.text(6)}`
      const body = {
        observations: [{ content: `The harbour watch noticed ${mark}`, sourceEventId: mark }],
        ...(random.chance(0.3) ? { focus: `harbour watch ${count % 7}` } : {}),
        metadata: { mark },
        // A crash takes longer than a cycle usually waits for the one before it.
        limits: { queueMs: 10_000, maxDurationMs: 10_000 },
      }
      // A refusal of a keyed one is held against its answer, so only others show one that was none.
      const isKeyed = random.chance(0.7)
      return {
        changes: [
          { id: idOf(`record ${mark}`), value: 'stored' },
          { id: idOf(`cycle ${mark}`), value: 'whole' },
        ],
        request: {
          ...{ method: 'POST', path: '/v1/cognitive/cycles', body: JSON.stringify(body) },
          headers: { ...headers, ...(isKeyed ? { 'idempotency-key': `${name}-${number}-${count}` } : {}) },
        },
        ...{ refusal: 409, isOnce: !isKeyed },
      }
    },
    hold() {},
  }
}
