// The transaction of a creation without us: the very statements of the stores that createService calls, run by pgbench.

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import type { WorldCaller } from '@loci/tests/world/callers.ts'
import { runSql } from '@loci/tests/world/sql.ts'

/** Who creates, by number: pgbench draws a number and no more. */
export async function prepareParties(url: string, callers: WorldCaller[]): Promise<void> {
  const parties = [...new Map(callers.map((caller) => [caller.organizationId, caller])).values()]
  await runSql(
    url,
    `create table public.parties as select n::int - 1 as n, organization_id, caller
    from unnest($1::text[], $2::text[]) with ordinality as given (organization_id, caller, n)`,
    [parties.map(({ organizationId }) => organizationId), parties.map(({ id }) => id)],
  )
  await runSql(
    url,
    'create unique index on public.parties (n); grant select on public.parties to loci_app; analyze public.parties',
  )
}

const STEPS = ['place', 'publish', 'confirm']
  .map((name) => `{"name": "${name}", "status": "pending", "started_at": null, "completed_at": null, "detail": null}`)
  .join(', ')
const DIGEST = 'yJ3xVtqkRkqf7c1ZB2cQ0mR6T8nUe5wLh4sXa9dPvGo'

/**
 * Its ids come with the statement that chooses the organization, so that they cost no statement of their own. They grow
 * with the time, as ours do. What is due is due tomorrow: management must not place these while the next ones are
 * measured.
 */
const SCRIPT = (parties: number) => `\\set n random(0, ${parties - 1})
\\set r random(100000, 999999)
begin;
select set_config('loci.organization', organization_id, true), organization_id as org, caller,
  '0' || rpad(to_hex((extract(epoch from clock_timestamp()) * 1000000)::bigint), 19, '0') || :r as id from public.parties where n = :n
\\gset
delete from loci.idempotency where (organization_id, caller, route, key) in (
  select organization_id, caller, route, key from loci.idempotency
  where organization_id = :org and created_at < now() - interval '24 hours' order by created_at limit 20 for update skip locked);
insert into loci.idempotency as old (organization_id, caller, route, key, fingerprint, sealed_with, status, created_at)
  values (:org, :caller, 'POST /api/v1/services', :id, sha256('x'), 'world', 0, clock_timestamp())
  on conflict (organization_id, caller, route, key) do update
    set fingerprint = excluded.fingerprint, sealed_with = excluded.sealed_with, status = 0, body = null, headers = null,
      ref = null, created_at = excluded.created_at
    where old.created_at < clock_timestamp() - interval '24 hours';
select id as tenant, plan, access from loci.tenants where organization_id = :org and deleted_at is null and is_default for no key update
\\gset
select coalesce(sum(count), 0)::int as used from loci.service_counts
  where organization_id = :org and tenant_id = :tenant and status not in ('failed', 'deleting', 'deleted');
insert into loci.services (id, organization_id, tenant_id, name, slug, service_type, plan, region, cell_id, config,
    operation_id, deadline_at, created_at, updated_at, status, desired_state, generation)
  values ('svc_' || :id, :org, :tenant, 'bench', 'bench-' || :id, 'memory', 'pro', 'us-east-1', null, '{}',
    'op_' || :id, now() + interval '10 minutes', now(), now(), 'provisioning', 'active', 0)
  on conflict (organization_id, slug) where status <> 'deleted' do nothing;
insert into loci.operations (id, organization_id, service_id, kind, status, steps, error, created_at, updated_at, finished_at)
  values ('op_' || :id, :org, 'svc_' || :id, 'provision', 'pending', '[${STEPS}]', null, now(), now(), null)
  on conflict (organization_id, id) do update set status = excluded.status, steps = excluded.steps, error = excluded.error,
    updated_at = excluded.updated_at, finished_at = excluded.finished_at
    where operations.finished_at is null;
insert into loci.due_services (service_id, organization_id, due_at) values ('svc_' || :id, :org, now() + interval '1 day')
  on conflict (service_id) do update set due_at = excluded.due_at;
select percentile_disc(0.9) within group (order by ms) as ms from (
  select ms from loci.ready_times where placement = 'us-east-1' order by at desc limit 50
) as last;
select loci.audit_append(:org, 'aud_' || :id, now(), :caller, 'service.make', 'svc_' || :id, 'done', 'req_' || :id,
  '{"plan": "pro", "tenant_id": "ten_00000000000000000000000000", "service_type": "memory"}', '${DIGEST}');
select loci.event_append(:org, 'evt_' || :id, now(), 'service.created', 'svc_' || :id,
  '{"plan": "pro", "tenant_id": "ten_00000000000000000000000000", "service_type": "memory"}');
update loci.idempotency set status = 202, ref = null,
    body = '{"service_id": "svc_00000000000000000000000000", "service_type": "memory", "name": "bench", "slug": "bench-abcdef", "status": "provisioning", "created_at": "2026-01-01", "estimated_ready_in": 5}',
    headers = '{"location": "/api/v1/services/svc_00000000000000000000000000", "operation-location": "/api/v1/operations/op_00000000000000000000000000"}'
  where organization_id = :org and caller = :caller and route = 'POST /api/v1/services' and key = :id;
commit;
`

/** Transactions in a second. */
export function runBareCreations(
  { binDirectory, socketDirectory, port }: Throwaway,
  directory: string,
  { clients, seconds, parties }: { clients: number; seconds: number; parties: number },
): Promise<number> {
  const script = join(directory, 'create.sql')
  writeFileSync(script, SCRIPT(parties))
  const how = ['-n', '-M', 'prepared', '-c', String(clients), '-j', '1', '-T', String(seconds), '-f', script]
  const where = ['-h', socketDirectory, '-p', String(port), '-U', 'loci_management', 'loci_control']
  return new Promise((resolve, reject) => {
    const child = spawn(join(binDirectory, 'pgbench'), [...how, ...where], { stdio: ['ignore', 'pipe', 'pipe'] })
    child.once('error', reject)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => (text += part))
    child.once('close', () => {
      const tps = /tps = ([\d.]+) \(without/.exec(text)?.[1]
      const failures = /number of failed transactions: ([1-9]\d*)/.exec(text)
      if (tps && !failures && !/error|aborted/i.test(text)) resolve(Number(tps))
      else reject(new Error(`pgbench: ${text}`))
    })
  })
}
