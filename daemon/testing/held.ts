// What an instance is said to hold, and what its tables hold.

import type { TestDaemon } from './daemon.ts'

interface Held {
  records: number
  bytes: number
}

export async function heldBy(
  { sql }: Pick<TestDaemon, 'sql'>,
  instanceId: string,
): Promise<{ counted: Held; held: Held }> {
  const [row] = await sql<Held & { recordsHeld: number; bytesHeld: number }>(HELD, [instanceId])
  if (!row) throw new Error('an aggregate has a row')
  const { records, bytes, recordsHeld, bytesHeld } = row
  return { counted: { records, bytes }, held: { records: recordsHeld, bytes: bytesHeld } }
}

/** Of one moment. Each kind of row by what its own functions count for it, every row one by one; without key-value. */
const HELD = `select
    (select coalesce(sum(t.records), 0)::int from loci.instance_totals t where t.instance_id = $1) as records,
    (select coalesce(sum(t.bytes), 0)::int from loci.instance_totals t where t.instance_id = $1) as bytes,
    (select count(*)::int from loci.records r where r.instance_id = $1)
      + (select count(*)::int from loci.projections p where p.instance_id = $1 and p.body is not null) as "recordsHeld",
    (select coalesce(sum(b), 0)::int from (
      select loci.record_bytes(r) as b from loci.records r where r.instance_id = $1
      union all select octet_length(s.body) from loci.segments s where s.instance_id = $1
      union all select 100 from loci.contexts c where c.instance_id = $1
      union all select 150 from loci.tombstones t where t.instance_id = $1
      union all select octet_length(s.key) + octet_length(s.text) + octet_length(s.meta) from loci.working_memory w, loci.wm_slots(w) s
        where w.instance_id = $1
      union all select 150 + 2 * octet_length(v.key) + octet_length(v.text) + octet_length(v.meta) from loci.slot_versions v
        where v.instance_id = $1
      union all select 150 + 2 * octet_length(e.key) + octet_length(e.why) from loci.evictions e where e.instance_id = $1
      union all select loci.cycle_bytes(c) from loci.cycles c where c.instance_id = $1
      union all select octet_length(d.body) + 150 from loci.cycle_decisions d where d.instance_id = $1
      union all select loci.prj_bytes(p) from loci.projections p where p.instance_id = $1
      union all select s.bytes from loci.advice_snapshots s where s.instance_id = $1
      union all select 200 from loci.advice_weights w where w.instance_id = $1
      union all select octet_length(a.tool) + 100 from loci.advice_passed a where a.instance_id = $1
      union all select octet_length(c.sent) + 100 from loci.configs c where c.instance_id = $1) held) as "bytesHeld"`
