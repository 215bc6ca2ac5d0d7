// Creations of services with Idempotency-Keys: who asks, what was answered, and what the tables hold afterwards.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import type { WorldCaller } from '../world/callers.ts'
import { runSql } from '../world/sql.ts'
import type { PlainClient } from './plain-client.ts'

/** One Idempotency-Key of one caller. Its services are known by their names, which begin with `name`. */
export interface Creation {
  key: string
  caller: WorldCaller
  name: string
  answers: Acknowledged[]
  tally: Tally
}

export interface Acknowledged {
  /** Of the request that was answered. */
  name: string
  /** Of the service that the answer tells of. */
  madeName: string
  serviceId: string
  /** Body and locations, byte for byte. */
  text: string
  isReplay: boolean
  isOther: boolean
}

export interface Tally {
  sent: number
  acked: number
  rolledBack: number
  silent: number
  /** Neither done nor to be tried again: no request of these tests deserves it. */
  wrong: string[]
  /** Tried again until the time was over. */
  givenUp: number
}

export function newTally(): Tally {
  return { sent: 0, acked: 0, rolledBack: 0, silent: 0, wrong: [], givenUp: 0 }
}

export function newCreation(key: string, name: string, caller: WorldCaller, tally: Tally): Creation {
  return { key, name, caller, answers: [], tally }
}

const TRY_MS_MAX = 40_000

/** Asks once, or until it is acknowledged. `url` is asked for at each try: a process that was killed is replaced. */
export async function create(
  creation: Creation,
  client: PlainClient,
  url: () => string,
  { name = creation.name, repeats = true }: { name?: string; repeats?: boolean } = {},
): Promise<void> {
  const { tally, answers } = creation
  const until = Date.now() + TRY_MS_MAX
  for (;;) {
    const outcome = await client.send(url(), requestOf(creation, name))
    tally.sent += 1
    if (outcome.kind === 'answer' && outcome.status === 202) {
      tally.acked += 1
      const { headers } = outcome
      const body = JSON.parse(outcome.body) as { service_id: string; name: string }
      answers.push({
        name,
        madeName: body.name,
        serviceId: body.service_id,
        text: [outcome.body, headers.location, headers['operation-location']].join('\n'),
        isReplay: headers['idempotent-replayed'] === 'true',
        isOther: headers['idempotency-body-differs'] === 'true',
      })
      return
    }
    if (outcome.kind !== 'answer') tally.silent += 1
    else if (outcome.status === 500) tally.rolledBack += 1
    else if (![409, 429, 503].includes(outcome.status)) {
      tally.wrong.push(`${creation.key}: ${outcome.status} ${outcome.body}`)
      return
    }
    if (!repeats) return
    if (Date.now() > until) {
      tally.givenUp += 1
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 50 + 200 * Math.random()))
  }
}

export function requestOf({ key, caller }: Creation, name: string, headers: Record<string, string> = {}) {
  return {
    method: 'POST',
    path: '/api/v1/services',
    headers: { 'x-api-key': caller.apiKey, 'idempotency-key': key, ...headers },
    body: JSON.stringify({ service_type: 'memory', name, plan: 'pro' }),
  }
}

interface Made {
  id: string
  name: string
  organizationId: string
  operations: number
  audits: number
  events: number
  due: number
}

export interface Verdict {
  services: number
  /** Services of a key beyond its first. */
  duplicates: number
  /** Keys with an acknowledged service that is not there, or that is not the one that is. */
  lost: string[]
  /** Keys whose answers differ. */
  differing: string[]
  /** Keys that were never acknowledged and have a service all the same, which is allowed, and those that have none. */
  silent: { made: number; none: number }
  /** What does not belong to exactly one service, and counters that are off. */
  crooked: string[]
}

/** The whole database is looked at for what belongs to nothing; services only by the names of these creations. */
export async function judge(postgres: Throwaway, creations: Creation[]): Promise<Verdict> {
  const url = postgres.adminUrl('loci_control')
  const byName = Map.groupBy(await listMade(url), ({ name }) => name.split('/')[0] as string)
  const verdict: Verdict = {
    services: 0,
    duplicates: 0,
    lost: [],
    differing: [],
    silent: { made: 0, none: 0 },
    crooked: await listStrays(url),
  }
  for (const { key, name, caller, answers } of creations) {
    const made = byName.get(name) ?? []
    verdict.services += made.length
    verdict.duplicates += Math.max(0, made.length - 1)
    const told = new Set(answers.map(({ serviceId }) => serviceId))
    for (const id of told) if (!made.some((one) => one.id === id)) verdict.lost.push(`${key}: ${id} is not there`)
    if (answers.length === 0) verdict.silent[made.length > 0 ? 'made' : 'none'] += 1
    verdict.differing.push(...differences(key, answers))
    for (const one of made) {
      const rows = [one.operations, one.audits, one.events, one.due]
      if (rows.some((count) => count !== 1) || one.organizationId !== caller.organizationId)
        verdict.crooked.push(`${key}: ${one.id} has ${rows.join(', ')} operations, audits, events, due rows`)
    }
  }
  return verdict
}

function differences(key: string, answers: Acknowledged[]): string[] {
  const found: string[] = []
  if (new Set(answers.map(({ text }) => text)).size > 1) found.push(`${key}: several bodies`)
  // The answer to the first may have been lost with its process; more than one first there cannot be.
  const firsts = answers.filter(({ isReplay }) => !isReplay)
  if (firsts.length > 1) found.push(`${key}: ${firsts.length} answers are not marked as repeats`)
  for (const answer of answers.filter(({ name, madeName, isOther }) => isOther !== (name !== madeName)))
    found.push(`${key}: the answer to '${answer.name}' is wrongly ${answer.isOther ? '' : 'not '}marked`)
  return found
}

function listMade(url: string): Promise<Made[]> {
  return runSql<Made>(
    url,
    `select s.id, s.name, s.organization_id as "organizationId",
      (select count(*)::int from loci.operations o where o.organization_id = s.organization_id and o.service_id = s.id) as operations,
      (select count(*)::int from loci.audit a where a.chain = s.organization_id and a.subject = s.id and a.action = 'service.make') as audits,
      (select count(*)::int from loci.events e where e.organization_id = s.organization_id and e.subject = s.id
        and e.type = 'service.created') as events,
      (select count(*)::int from loci.due_services d where d.service_id = s.id) as due
    from loci.services s order by s.id`,
  )
}

/** Rows of a creation without its service, and counters that are not the number of services. */
async function listStrays(url: string): Promise<string[]> {
  const rows = await runSql<{ stray: string }>(
    url,
    `with counted as (
      select organization_id, t.id as tenant_id, service_type, status, count(*) as count
      from loci.services s, lateral (values (''), (s.tenant_id)) as t (id) group by 1, 2, 3, 4
    )
    select 'audit without its service: ' || subject as stray from loci.audit a
      where action = 'service.make' and not exists (select from loci.services s where s.id = a.subject)
    union all select 'event without its service: ' || subject from loci.events e
      where type = 'service.created' and not exists (select from loci.services s where s.id = e.subject)
    union all select 'due without its service: ' || service_id from loci.due_services d
      where not exists (select from loci.services s where s.id = d.service_id)
    union all select 'answer without its service: ' || key from loci.idempotency i
      where not exists (select from loci.services s where s.id = i.body->>'service_id')
    union all select 'counter of ' || organization_id || ' ' || tenant_id || ': ' || coalesce(kept.count, 0) || ' of ' || coalesce(counted.count, 0)
      from loci.service_counts kept full join counted using (organization_id, tenant_id, service_type, status)
      where coalesce(kept.count, 0) <> coalesce(counted.count, 0)`,
  )
  return rows.map(({ stray }) => stray)
}
