// Cycles in bulk, made in SQL by the product's own hash and counts: each linked to the one before, behind a checkpoint.

import { cyclesOf } from '@loci/daemon/testing/cycles.ts'
import type { TestTenant } from '@loci/daemon/testing/tenant.ts'
import type { RotCell } from './rot-cell.ts'

const MS = 5

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
  await sql(`do $$
    declare
      v loci.cycles;
      v_pruned bigint := ${ever - kept};
      v_prev bytea;
      v_from timestamptz;
    begin
      select * into v from loci.cycles where ${at} and seq = 1;
      delete from loci.cycles where ${at};
      v_from := v.started_at - interval '60 days' - ${ever} * interval '1 second';
      v_prev := case when v_pruned > 0 then sha256('pruned') end;
      update loci.databases set cyc_pruned_through = v_pruned, cyc_pruned_hash = v_prev, cyc_pruned_ms = v_pruned * ${MS}
        where instance_id = v.instance_id and name = v.database;
      for n in v_pruned + 1..${ever} loop
        v.seq := n; v.id := 'cyc_' || lpad(n::text, 26, '0'); v.started_at := v_from + n * interval '1 second';
        v.completed_at := v.started_at + ${MS} * interval '1 millisecond'; v.duration_ms := ${MS}; v.prev_hash := v_prev;
        v.hash := loci.cycle_hash(v); v_prev := v.hash;
        insert into loci.cycles select (v).*;
      end loop;
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

/** Rows a statement, so that none runs long. */
const LOT = 100_000
const STRANGERS = 1_000

/** Rows of other databases, of an instance that is not there: nobody reads them, and every index holds them. */
export async function fillCell({ sql }: RotCell, tenant: TestTenant, db: string, rows: number): Promise<void> {
  for (let from = 0; from < rows; from += LOT)
    await sql(
      `insert into loci.cycles (instance_id, database, seq, id, started_at, completed_at, duration_ms, after_digest, decisions_hash,
          body, prev_hash, hash)
        select 'svc_stranger', 'd' || n % ${STRANGERS}, n / ${STRANGERS} + 1, 'cyc_' || lpad(n::text, 26, '0'), started_at, completed_at,
          duration_ms, after_digest, decisions_hash, body, prev_hash, hash
        from (select * from loci.cycles where instance_id = $1 and database = $2 order by seq desc limit 1) c,
          generate_series(${from}, ${Math.min(rows, from + LOT) - 1}) n`,
      [tenant.instanceId, db],
    )
  await sql('vacuum analyze loci.cycles')
  await sql('checkpoint')
}
