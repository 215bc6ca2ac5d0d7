// Cycles in bulk, made in SQL by the product's own hash and counts: each linked to the one before, behind a checkpoint.

import { cyclesOf } from '@loci/daemon/testing/cycles.ts'
import type { TestTenant } from '@loci/daemon/testing/tenant.ts'
import type { RotCell } from './rot-cell.ts'

const MS = 5
/** A statement, so that none runs long. */
const CYCLES = 10_000

/**
 * A database that has had `ever` cycles and keeps the last `kept`; all of them look like one that was run, so long ago
 * that their decisions were dropped.
 */
export async function fillCycles(
  { sql }: RotCell,
  tenant: TestTenant,
  db: string,
  { kept, ever }: { kept: number; ever: number },
): Promise<void> {
  await cyclesOf(tenant, db).run({ observations: [{ content: 'The pump in hall three was repaired' }] })
  const at = `instance_id = '${tenant.instanceId}' and database = '${db}'`
  const first = ever - kept + 1
  const startedAt = new Date(Date.now() - 60 * 86_400_000 - ever * 1_000).toISOString()
  await sql(`update loci.databases set cyc_pruned_through = ${first - 1}, cyc_pruned_ms = ${(first - 1) * MS},
      cyc_pruned_hash = ${first > 1 ? "sha256('pruned')" : 'null'}
    where instance_id = '${tenant.instanceId}' and name = '${db}'`)
  for (let from = first; from <= ever; from += CYCLES)
    await sql(`do $$
      declare
        v loci.cycles;
        v_prev bytea;
      begin
        -- All of them look like the one before, the first like the one that was run.
        select * into v from loci.cycles where ${at} order by seq desc limit 1;
        v_prev := v.hash;
        if ${from} = ${first} then
          delete from loci.cycles where ${at};
          v_prev := (select cyc_pruned_hash from loci.databases where instance_id = v.instance_id and name = v.database);
        end if;
        for n in ${from}..${Math.min(ever, from + CYCLES - 1)} loop
          v.seq := n; v.id := 'cyc_' || lpad(n::text, 26, '0'); v.started_at := '${startedAt}'::timestamptz + n * interval '1 second';
          v.completed_at := v.started_at + ${MS} * interval '1 millisecond'; v.duration_ms := ${MS}; v.prev_hash := v_prev;
          v.hash := loci.cycle_hash(v); v_prev := v.hash;
          insert into loci.cycles select (v).*;
        end loop;
      end
      $$`)
  await sql(`do $$
    declare
      v loci.cycles;
    begin
      select * into v from loci.cycles where ${at} and seq = ${ever};
      update loci.databases h set cyc_total = ${ever}, cyc_ms = ${ever}::bigint * ${MS}, cyc_last_at = v.completed_at, cyc_hash = v.hash,
          cyc_bytes = c.bytes, cyc_set_a = c.a, cyc_set_b = c.b, cyc_checked_seq = null, cyc_verified = null
        from (select sum(loci.cycle_bytes(c)) as bytes, bit_xor(loci.digest_part(c.hash, 1)) as a, bit_xor(loci.digest_part(c.hash, 9)) as b
          from loci.cycles c where ${at}) c
        where h.instance_id = v.instance_id and h.name = v.database;
      perform loci.add_totals(v.instance_id, 0, (select h.cyc_bytes from loci.databases h where h.instance_id = v.instance_id
        and h.name = v.database) - loci.cycle_bytes(v));
    end
    $$`)
}

/** Databases a statement, so that none runs long, and rows of each. */
const LOT = 5
const ROWS_EACH = 10_000

/**
 * Rows of other databases, of an instance that is not there: nobody reads them, and every index holds them. They have
 * no content, and come in the order of the indexes: ten million in minutes.
 */
export async function fillCell({ sql }: RotCell, rows: number): Promise<void> {
  const databases = Math.ceil(rows / ROWS_EACH)
  for (let from = 0; from < databases; from += LOT)
    await sql(
      `insert into loci.cycles (instance_id, database, seq, id, started_at, completed_at, duration_ms, after_digest, decisions_hash, body, hash)
        select 'svc_stranger', 'd' || lpad(d::text, 6, '0'), n, 'cyc_' || lpad(n::text, 26, '0'), now(), now(), 1, '', '', '{}', ''
        from generate_series(${from}, ${Math.min(databases, from + LOT) - 1}) d, generate_series(1, ${Math.min(rows, ROWS_EACH)}) n`,
    )
  await sql('analyze loci.cycles')
  await sql('checkpoint')
}
