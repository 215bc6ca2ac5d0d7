// A day of keyed writes in a minute: batches through the SDK, which sends a key with each, that overwrite the same
// entries of a service on the starter plan. Then the day is over, and the daemon removes what it kept.

import { readFileSync } from 'node:fs'
import { connectDaemon } from '@loci/sdk/client.ts'
import { LociError } from '@loci/sdk/error.ts'
import type { Report } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const STARTER_RECORDS = 100_000
const SHORT_RECORDS = 2_000
const LANES = 16
const ENTRIES = 8
const SWEPT = 1_000
const GONE_MS_MAX = 300_000

export async function keepsADayOfKeys(report: Report, { isShort }: { isShort: boolean }): Promise<void> {
  const records = isShort ? SHORT_RECORDS : STARTER_RECORDS
  const world = await startWorld({ replicas: 1 })
  try {
    const tenant = await addTenant(world, { name: 'keyed', plan: 'starter' })
    const sql = <Row extends object>(text: string, values: unknown[] = [tenant.serviceId]) =>
      runSql<Row>(world.postgres.adminUrl('loci_cell'), text, values)
    // A day in a minute: the rate is another promise. Only the short run has fewer records than the plan.
    const limits = { requests_per_second: 100_000, burst: 200_000, ...(isShort ? { records } : {}) }
    await sql(
      `with raised as (update loci.cell set change_seq = change_seq + 1 returning change_seq)
       update loci.instances set limits = limits || $2, change_seq = raised.change_seq from raised where id = $1`,
      [tenant.serviceId, JSON.stringify(limits)],
    )
    const { done, refused } = await write(world, tenant, records)
    const [kept] = await sql<{ answers: number; bytes: number; records: number }>(
      `select keyed_answers::int as answers, keyed_bytes::int as bytes,
         (select sum(records)::int from loci.instance_totals where instance_id = i.id) as records
       from loci.instances i where id = $1`,
    )
    report.promise(
      'as many keyed batches in a day as the plan has records, through the SDK, and none is refused',
      done === records && refused.length === 0 && kept?.answers === records && kept.records === ENTRIES,
      `${done} of ${records} done, ${refused.length} refused ${refused[0] ?? ''}; ${kept?.answers} answers kept, ${Math.round((kept?.bytes ?? 0) / records)} bytes each, ${kept?.records} records`,
    )
    const beyond = await write(world, tenant, 1)
    report.promise(
      'the next one is told why',
      /as many as its plan has records/.test(beyond.refused[0] ?? ''),
      `${beyond.refused[0]}`,
    )
    await sweeps(report, world, tenant, records)
    await mutant(report, world, tenant)
  } finally {
    await world.stop()
  }
}

/** Stops at the first that is refused: the others would be, too. */
async function write({ daemons }: World, { capability }: WorldTenant, count: number) {
  const client = connectDaemon({
    ...{ url: daemons[0]?.url as string, capability: capability.token, database: 'day' },
    ...{ deadlineMs: 60_000, attemptMs: 20_000, attemptsMax: 50 },
  })
  const refused: string[] = []
  let begun = 0
  let done = 0
  const lane = async () => {
    for (; begun < count && refused.length === 0; done += 1) {
      begun += 1
      const operations = Array.from({ length: ENTRIES }, (_, n) => ({ op: 'put' as const, key: `k${n}`, value: begun }))
      try {
        await client.call('POST /v1/kv/entries/batch', { body: { operations } })
      } catch (error) {
        refused.push(error instanceof LociError ? `${error.status} ${error.code}: ${error.message}` : String(error))
        return
      }
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  return { done, refused }
}

async function sweeps(report: Report, { postgres }: World, { serviceId }: WorldTenant, answers: number): Promise<void> {
  const url = postgres.adminUrl('loci_cell')
  await runSql(
    url,
    `update loci.idempotency set created_at = created_at - interval '25 hours' where instance_id = $1`,
    [serviceId],
  )
  await runSql(url, 'analyze loci.idempotency')
  const scans = async () => {
    // What a session has counted shows within a second.
    await new Promise((resolve) => setTimeout(resolve, 1_500))
    const [row] = await runSql<{ scans: number; removed: number }>(
      url,
      `select seq_scan::int as scans, n_tup_del::int as removed from pg_stat_user_tables where relname = 'idempotency'`,
    )
    return row as { scans: number; removed: number }
  }
  const before = await scans()
  const [first] = await runSql<{ removed: number }>(url, 'select loci.sweep_answers($1, $2) as removed', [
    ...[serviceId, SWEPT],
  ])
  // From here on the daemon does it.
  await runSql(url, `update loci.instances set keyed_since = now() - interval '25 hours' where id = $1`, [serviceId])
  const until = Date.now() + GONE_MS_MAX
  let left = answers
  for (; left > 0 && Date.now() < until; await new Promise((resolve) => setTimeout(resolve, 1_000))) {
    const [row] = await runSql<{ left: number }>(
      url,
      'select keyed_answers::int as left from loci.instances where id = $1',
      [serviceId],
    )
    left = row?.left ?? 0
  }
  const after = await scans()
  report.promise(
    'answers of the day before go in bounded steps, each found by an index',
    first?.removed === SWEPT &&
      left === 0 &&
      after.removed - before.removed === answers &&
      after.scans === before.scans,
    `${SWEPT} in the first step, ${after.removed - before.removed} of ${answers} in the end, ${after.scans - before.scans} scans of the whole table`,
  )
}

/** In the function of the cell itself: a number for every plan. */
async function mutant(report: Report, world: World, tenant: WorldTenant): Promise<void> {
  const text = readFileSync(new URL('../../daemon/idempotency/functions.sql', import.meta.url), 'utf8')
  const claim = /^create or replace function loci\.claim_keys\([\s\S]*?\n\$\$;\n/m.exec(text)?.[0] ?? ''
  const from = `(i.limits ->> 'records')::bigint`
  if (claim.split(from).length !== 2) throw new Error(`the mutant no longer applies: ${from} is not in claim_keys once`)
  await runSql(world.postgres.adminUrl('loci_cell'), claim.replace(from, '100'))
  const { done, refused } = await write(world, tenant, 200)
  report.mutant('one number for every plan', refused.length > 0 ? `refused after ${done}` : undefined)
}
