// What writers of cycles do: each runs cycles in a database of its own, with one observation that nobody else makes and
// the same mark as metadata. In the ledger the record is there and the cycle is whole.

import type { Maker, Writer } from './kv-writers.ts'

export function cycleOperations({ party, random, number, name }: Writer): Maker {
  const database = `${name}-${number}`
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
        limits: { queueMs: 10_000 },
      }
      return {
        changes: [
          { id: idOf(`record ${mark}`), value: 'stored' },
          { id: idOf(`cycle ${mark}`), value: 'whole' },
        ],
        request: {
          ...{ method: 'POST', path: '/v1/cognitive/cycles', body: JSON.stringify(body) },
          headers: { ...headers, 'idempotency-key': `${name}-${number}-${count}` },
        },
      }
    },
    hold() {},
  }
}
