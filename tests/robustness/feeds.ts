// The feeds of the product as interleavings.ts wants them: management's to its cells, and the cell's own to its
// replicas.

import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '@loci/contract/ids.ts'
import { readChanges } from '@loci/daemon/access/store.ts'
import { applyPage, takeLease } from '@loci/daemon/feed/store.ts'
import { revokeInCell } from '@loci/daemon/operator/revocations/store.ts'
import { publish, readFeed } from '@loci/management/acts/feed/store.ts'
import { openPool, type Pool, type Sql } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { runSql } from '../world/sql.ts'
import type { World } from '../world/world.ts'
import { type Committed, type Feed, hesitant, ROLLED_BACK } from './interleavings.ts'
import type { Random } from './seeded.ts'

export interface OpenFeed extends Feed {
  close(): Promise<void>
}

/** Keys that many transactions change: their order is what is looked at. */
const HOT_KEYS = 20
const WIDTH = 8

/** Management's feed to one cell that nobody else reads, written by publish() and read by readFeed(). */
export async function managementFeed(world: World, random: Random): Promise<OpenFeed> {
  const pool = testPool(world, 'loci_control')
  const cellId = newId('cell')
  await keepHistory(world, 'loci_control', 'feed_items', `new.seq, new.kind || ':' || new.key, new.body->>'generation'`)
  await runSql(
    world.postgres.adminUrl('loci_control'),
    `insert into loci.cells (id, name, region, capacity, endpoint, public_keys) values ($1, $1, 'nowhere', 1, 'http://127.0.0.1:1', '["x"]')`,
    [cellId],
  )
  const first = await readFeed(pool, { cellId, after: 0, epoch: undefined })
  let after = first.next
  const write = (turn: number) =>
    transaction(hesitant(pool, random), async (sql) => {
      for (let change = 0; change <= random.below(3); change += 1) {
        const svc = random.chance(0.3) ? `hot${random.below(HOT_KEYS)}` : `one${turn}.${change}`
        await publish(sql, cellId, { kind: 'instance', key: svc, body: instanceBody(svc, turn * 10 + change) })
      }
      if (random.chance(0.1)) throw new Error(ROLLED_BACK)
    })
  return {
    write,
    async read() {
      const page = await readFeed(pool, { cellId, after, epoch: first.epoch })
      if (page.full) throw new Error('the feed began anew')
      after = page.next
      return page.items.map(({ kind, key, body }) => ({
        key: `${kind}:${key}`,
        label: String((body as { generation: number }).generation),
      }))
    },
    history: () => readHistory(world, 'loci_control'),
    close: () => pool.close(),
  }
}

/**
 * The cell's own numbers: administrators revoke while pages of the feed are applied; replicas read by readChanges().
 * `readNumberLast` is the mutant that learns how far it has read after reading.
 */
export async function cellFeed(
  world: World,
  random: Random,
  { readNumberLast = false }: { readNumberLast?: boolean } = {},
): Promise<OpenFeed> {
  const pool = testPool(world, 'loci_cell')
  await keepHistory(world, 'loci_cell', 'instances', `new.change_seq, 'instance:' || new.id, new.generation::text`)
  await keepHistory(world, 'loci_cell', 'revocations', `new.change_seq, 'revocation:' || new.value, ''`, false)
  const lease = await takeLease(pool, 'loci-test', 600_000)
  if (!lease) throw new Error('somebody else holds the lease of the cell')
  await revoke(pool, `start${random.text(8)}`)
  let { changeSeq } = await readChanges(pool, 0)
  await runSql(world.postgres.adminUrl('loci_cell'), 'delete from loci.test_history')
  return {
    async write(turn) {
      const slow = hesitant(pool, random)
      if (random.chance(0.5)) return revoke(slow, `jti${turn}`)
      const svc = random.chance(0.5) ? `hot${random.below(HOT_KEYS)}` : `one${turn}`
      const item = { seq: turn, kind: 'instance' as const, key: svc, body: instanceBody(svc, turn) }
      return applyPage(slow, { fence: lease.fence, epoch: 'test', next: turn, items: [item] })
    },
    async read() {
      const { instances, revocations, ...end } = await readChanges(pool, changeSeq)
      if (readNumberLast) await sleep(1)
      changeSeq = readNumberLast ? (await readChanges(pool, 2 ** 52)).changeSeq : end.changeSeq
      return [
        // The cache has no generation; one of the limits shows which change it is of.
        ...instances.map(({ id, limits }) => ({ key: `instance:${id}`, label: String(limits.records) })),
        ...revocations.map(({ value }) => ({ key: `revocation:${value}`, label: '' })),
      ]
    },
    history: () => readHistory(world, 'loci_cell'),
    close: () => pool.close(),
  }
}

/** The mutant: numbers from a sequence. */
export async function sequenceFeed(world: World, random: Random): Promise<OpenFeed> {
  const pool = testPool(world, 'loci_cell')
  await runSql(
    world.postgres.adminUrl('loci_cell'),
    `create table loci.twin (seq bigserial primary key, key text not null);
     grant select, insert on loci.twin to loci_app; grant usage on sequence loci.twin_seq_seq to loci_app`,
  )
  let after = 0
  return {
    write: (turn) =>
      transaction(hesitant(pool, random), async (sql: Sql) => {
        await sql.query({ text: 'insert into loci.twin (key) values ($1)', values: [`one${turn}`] })
        await sql.query({ text: 'select 1' })
        if (random.chance(0.1)) throw new Error(ROLLED_BACK)
      }),
    async read() {
      const { rows } = await pool.query<{ seq: number; key: string }>({
        text: 'select seq, key from loci.twin where seq > $1 order by seq',
        values: [after],
      })
      after = rows.at(-1)?.seq ?? after
      return rows.map(({ key }) => ({ key, label: '' }))
    },
    async history() {
      const { rows } = await pool.query<Committed>({ text: `select seq, key, '' as label from loci.twin order by seq` })
      return rows
    },
    close: () => pool.close(),
  }
}

function testPool({ postgres }: World, database: string): Pool {
  return openPool({
    url: postgres.url(database === 'loci_cell' ? 'loci_daemon' : 'loci_management', database),
    applicationName: 'loci-test',
    connectionsMax: WIDTH + 2,
    // A lock may be waited for longer than the product would wait: what is looked at is order, not time.
    ...PATIENT,
    onError: () => {},
  })
}

function revoke(pool: Pool, value: string): Promise<unknown> {
  return revokeInCell(pool, { kind: 'jti', value, notBefore: null, actor: 'test', requestId: 'req_test' })
}

function instanceBody(svc: string, generation: number) {
  const limits = { databases: 1, records: generation, bytes: 1, requests_per_second: 1, burst: 2, streams: 1 }
  return {
    org: 'org_test',
    ten: 'ten_test',
    svc,
    service_type: 'memory',
    plan: 'pro' as const,
    state: 'active' as const,
    state_reason: null,
    generation,
    limits,
    config: {},
  }
}

/** A trigger that writes down every change in the transaction that makes it, out of reach of the code under test. */
async function keepHistory(
  world: World,
  database: string,
  table: string,
  columns: string,
  isFirst = true,
): Promise<void> {
  const begin = isFirst
    ? `drop table if exists loci.test_history cascade; create table loci.test_history (seq bigint not null, key text not null, label text not null);`
    : ''
  await runSql(
    world.postgres.adminUrl(database),
    `${begin}
     create or replace function loci.test_keep_${table}() returns trigger language plpgsql security definer as $$
     begin insert into loci.test_history (seq, key, label) values (${columns}); return null; end $$;
     drop trigger if exists test_keep on loci.${table};
     create trigger test_keep after insert or update on loci.${table} for each row execute function loci.test_keep_${table}()`,
  )
}

function readHistory(world: World, database: string): Promise<Committed[]> {
  return runSql<Committed>(
    world.postgres.adminUrl(database),
    'select seq, key, label from loci.test_history order by seq, ctid',
  )
}
