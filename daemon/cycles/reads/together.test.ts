import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPool, type Pool } from '@loci/postgres/pool.ts'
import { PATIENT, testDatabase } from '@loci/postgres/testing/database.ts'
import { SCHEMA } from '../../schema.ts'
import { createReads } from './together.ts'

const INSTANCE = 'svc_1'
const NAMES = Array.from({ length: 12 }, (_, n) => `d${n}`)
const DUE = { leadMs: 0, graceMs: 0, max: 1 }
const LOOKUP = { sourceEventId: null, value: '00'.repeat(16), key: null, supersedes: null, same: 'x' }
/** As many lookups as the database has cycles, of a context that only this one knows. */
const askOf = (n: number) => ({
  ...{ have: 0, due: DUE },
  lookups: Array.from({ length: n % 3 }, () => ({ ...LOOKUP, context: n.toString(16).padStart(2, '0').repeat(16) })),
})

/** Twelve databases of which each has run as many cycles as its name says; calls are counted as they are sent. */
async function testReads(
  work: (reads: { read: ReturnType<typeof createReads>; calls: string[][]; owner: Pool }) => Promise<void>,
) {
  await using database = await testDatabase({ schema: SCHEMA })
  const open = (url: string) =>
    openPool({ url, applicationName: 'loci-test', connectionsMax: 4, ...PATIENT, onError: () => {} })
  const [pool, owner] = [open(database.appUrl), open(database.adminUrl)]
  try {
    await owner.query({
      text: `insert into loci.databases (instance_id, name, cyc_total, created_at) select $1, 'd' || g, g, now() from generate_series(0, 11) g`,
      values: [INSTANCE],
    })
    await owner.query({
      text: `insert into loci.contexts (instance_id, database, name_mac, number, position, records)
        select $1, 'd' || g, decode(repeat(lpad(to_hex(g), 2, '0'), 16), 'hex'), 100 + g, 1, 0 from generate_series(0, 11) g`,
      values: [INSTANCE],
    })
    const calls: string[][] = []
    const counted: Pick<Pool, 'query' | 'afterCommit'> = {
      afterCommit: pool.afterCommit,
      query: (statement) => {
        const asks = JSON.parse(statement.values?.[1] as string) as { database: string }[]
        calls.push(asks.map((ask) => ask.database))
        return pool.query(statement)
      },
    }
    await work({ read: createReads(counted), calls, owner })
  } finally {
    await Promise.all([pool.close(), owner.close()])
  }
}

// Mutants: CALLS_MAX = 100 with OBSERVATIONS_MAX = 1; readTogether() that answers in the reverse order; readStates()
// with `order by q_n desc`, or with the lookups of its neighbour.
test('cycles of an instance that begin together are read for by few calls, each gets its own state', () =>
  testReads(async ({ read, calls }) => {
    const states = await Promise.all(NAMES.map((database, n) => read({ instanceId: INSTANCE, database }, askOf(n))))
    assert.deepEqual(
      states.map(({ number }) => number),
      NAMES.map((_, n) => n),
    )
    assert.deepEqual(
      states.map(({ known }) => known.map(({ context }) => context?.[0])),
      NAMES.map((_, n) => Array.from({ length: n % 3 }, () => 100 + n)),
    )
    assert.ok(calls.length <= 3, JSON.stringify(calls))
    assert.deepEqual(calls.flat().sort(), [...NAMES].sort())
  }))

// Mutant: readTogether() without its catch.
test('a database that takes too long to read fails its own cycle and no other that was read with it', () =>
  testReads(async ({ read, owner }) => {
    // As a statement that is cancelled at its deadline, without the wait.
    await owner.query({
      text: `update loci.databases set wm_config = 1;
        alter function loci.config_layers rename to real_config_layers;
        create function loci.config_layers(p_instance text, p_database text, p_kind text, out service text, out sent text, out version bigint,
          out intact boolean) language plpgsql stable as $$
        begin
          if p_database = 'd3' then raise exception 'canceling statement due to statement timeout' using errcode = '57014'; end if;
          select c.service, c.sent, c.version, c.intact into service, sent, version, intact
            from loci.real_config_layers(p_instance, p_database, p_kind) c;
        end $$;
        grant execute on function loci.config_layers to public`,
    })
    const settled = await Promise.allSettled(
      NAMES.slice(0, 8).map((database, n) => read({ instanceId: INSTANCE, database }, askOf(n))),
    )
    assert.deepEqual(
      settled.map((one) => (one.status === 'fulfilled' ? one.value.number : null)),
      [0, 1, 2, null, 4, 5, 6, 7],
    )
  }))
