// What a daemon has stored before a cycle, the seed and startedAt of its record, and what it was handed give the stored
// decisions again: read by the store, recalled by the index and decided by the rules as the run did.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { atOnce } from '@loci/chassis/testing/at-once.ts'
import { testLog } from '@loci/chassis/testing/server.ts'
import type { Cycle, CycleRun } from '@loci/contract/cognitive.ts'
import type { RecordWrite } from '@loci/contract/memory.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { layersOf } from '../databases/config/store.ts'
import { createInstanceKeys, type InstanceKeys } from '../databases/instance-keys.ts'
import { type Macs, macsOf } from '../databases/macs.ts'
import { createRecallIndex, type RecallIndex } from '../memory/index/recall-index.ts'
import { createParts } from '../memory/parts/parts.ts'
import { createTails } from '../memory/tails.ts'
import { Chance } from '../memory/testing/random-items.ts'
import { type TestAuthority, testAuthority } from '../testing/authority.ts'
import { testDaemon, testSettings } from '../testing/daemon.ts'
import { cycleConfig } from './config.ts'
import { decide, perceive, poolSize, recordsFor } from './cycle.ts'
import { incomingOf, inputOf, knownRecord } from './plan.ts'
import { readRecords, readStates } from './reads/store.ts'
import { recallFor } from './recall.ts'

const CYCLES = 25
const THINGS = ['kiln', 'crate', 'ladder', 'valve', 'lamp', 'ledger', 'gate', 'truck']
const STATES = ['broken', 'packed', 'late', 'signed', 'empty', 'missing']
const PLACES = ['depot', 'attic', 'yard', 'office']

// Mutants: observationId(), createIds() or noiseOf() by Math.random(); inputOf() that takes the time of day.
test('stored state, seed and startedAt of a cycle give its stored decisions, byte for byte', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  const own = await authority.addInstance()
  const index = createRecallIndex({ bytesMax: 2 ** 24, log: testLog().log })
  const keys = createInstanceKeys(authority.pool, testSettings('', '').sealingKeys)
  const macs = macsOf(await keys.of(own.svc))
  const token = own.root({ ops: ['cycles:run', 'memory:read', 'wm:write'], ks: ['*/*'] })
  const operator = own.root({ ops: ['operator'], ks: ['*/*'] })
  let weighed = 0
  try {
    for (const [seed, config] of [{}, { noise: 0.2 }, { weights: { base: 1 } }].entries()) {
      const database = `mind-${seed}`
      const headers = { 'x-loci-database': database }
      const call = async <Answer>(by: string, line: string, body?: unknown): Promise<Answer> => {
        for (;;) {
          const answer = await own.call(by, line, { headers, body })
          // A busy machine: nothing was done.
          if (answer.status === 503) continue
          assert.equal(answer.status, 200, answer.text)
          return answer.json<Answer>()
        }
      }
      await call(operator, 'PUT /v1/cognitive/config', config)
      await call(operator, 'PUT /v1/working-memory/config', { capacity: 6 })
      const script = scriptOf(new Chance(seed + 1))
      for (let n = 0; n < CYCLES; n += 1) {
        const slot = script.slot()
        if (slot) await call(token, `PUT /v1/working-memory/slots/${slot.key}`, { value: slot.value })
        const { records } = await call<{ records: { id: string }[] }>(token, 'GET /v1/memory/records?limit=9')
        const run = script.run(records.map(({ id }) => id))
        const before = await snapshotOf(authority)
        const made = await call<Cycle>(token, 'POST /v1/cognitive/cycles', run)
        const again = await decidedAgain(
          before.sql,
          authority,
          { instanceId: own.svc, database },
          index,
          { keys, macs },
          run,
          made,
        )
        await before.end()
        const [stored] = await daemon.sql<{ body: string }>(
          'select body from loci.cycle_decisions where instance_id = $1 and database = $2 and seq = $3',
          [own.svc, database, made.seq],
        )
        assert.equal(again, stored?.body, `cycle ${made.seq} of ${database}`)
        weighed += made.decisions.kept + made.decisions.admitted
      }
    }
  } finally {
    await index.close()
  }
  assert.ok(weighed > 300, `${weighed} slots were weighed`)
})

function scriptOf(chance: Chance) {
  const isLucky = (share: number) => chance.next() < share
  const sentence = () => `The ${chance.of(THINGS)} in the ${chance.of(PLACES)} is ${chance.of(STATES)}.`
  const hours = (n: number) => new Date(Date.now() + n * 3_600_000).toISOString()
  return {
    slot: () =>
      isLucky(0.15) ? { key: chance.of(THINGS), value: isLucky(0.5) ? sentence() : { note: sentence() } } : null,
    run: (known: string[]): CycleRun => ({
      ...(isLucky(0.4) ? { focus: `Which ${chance.of(THINGS)} is ${chance.of(STATES)}?` } : {}),
      observations: Array.from(
        { length: chance.below(4) },
        (): RecordWrite => ({
          content: sentence(),
          ...(isLucky(0.5) ? { contextId: chance.of(PLACES) } : {}),
          ...(isLucky(0.5) ? { actor: chance.of(['Mara', 'Pim']) } : {}),
          ...(isLucky(0.3) ? { key: chance.of(THINGS) } : {}),
          ...(isLucky(0.1) && known.length > 0 ? { supersedes: chance.of(known) } : {}),
          ...(isLucky(0.1) ? { sourceEventId: `e${chance.below(20)}` } : {}),
          // Far from where the time of the replay would make a difference.
          ...(isLucky(0.1) ? { dueAt: hours(chance.of([0, 5])) } : {}),
          ...(isLucky(0.1) ? { ttlMs: 3_600_000 } : {}),
          ...(isLucky(0.2) ? { occurredAt: hours(-chance.below(40)) } : {}),
        }),
      ),
      limits: { maxDurationMs: 10_000, queueMs: 10_000 },
    }),
  }
}

/** The tables as they are now, for as long as it is not ended. */
async function snapshotOf({ pool }: TestAuthority) {
  const client = await pool.client()
  await client.query({
    text: 'begin isolation level repeatable read; set local idle_in_transaction_session_timeout = 0',
  })
  await client.query({ text: 'select count(*) from loci.instances' })
  return {
    sql: client as Sql,
    async end() {
      await client.query({ text: 'rollback' })
      client.release()
    },
  }
}

async function decidedAgain(
  sql: Sql,
  { pool }: TestAuthority,
  place: { instanceId: string; database: string },
  index: RecallIndex,
  { keys, macs }: { keys: InstanceKeys; macs: Macs },
  { observations = [], focus = null }: CycleRun,
  { startedAt, engine: { seed } }: Cycle,
): Promise<string> {
  const source = { type: 'api' as const, ref: '', actor: null, trust: 'holder' as const }
  const incoming = await incomingOf([], observations, source, macs)
  const lookups = incoming.map(({ lookup }) => lookup)
  const { cycle: usual } = cycleConfig([], [])
  const due = { ...usual.due, max: poolSize(usual) }
  const { state, tail: texts } = await createTails(keys).readWith(place, async ({ have }) => {
    const [read] = await readStates(sql, place.instanceId, [{ database: place.database, have, lookups, due }])
    assert.ok(read)
    return { ...read, at: new Date(startedAt) }
  })
  const { cycle: config } = cycleConfig(layersOf(state.slotConfig), layersOf(state))
  const perceived = perceive(inputOf(state, config, incoming, { seed, focus, unstorable: new Set() }))
  const answer = await recallFor(
    { index, parts: createParts(pool, index, keys, testLog().log) },
    place,
    { state, texts },
    perceived.ask,
  )
  const seqs = recordsFor(perceived, answer)
  const { rows } = await readRecords(sql, place, { seq: state.seq, at: state.at, seqs })
  const records = new Map(rows.map((row) => [row.seq, knownRecord(row)]))
  return JSON.stringify(atOnce(decide(perceived, answer, records)).decisions)
}
