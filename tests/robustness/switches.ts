// Switches sub-services over HTTP, and reads what became of them.

import { setTimeout as sleep } from 'node:timers/promises'
import type { LociProcess } from '../world/process.ts'
import { runSql } from '../world/sql.ts'
import type { World } from '../world/world.ts'

export interface Update {
  service: string
  previous: string
  current: string
  changed: boolean
  audit_id: string | null
}

export interface Answer {
  status: number
  requestId: string
  retryAfter: string | null
  body: {
    success?: boolean
    updates?: Update[]
    failed_services?: { service: string; code: string; dependents: string[] }[]
    error?: { code: string }
  }
}

export interface AuditRow {
  id: string
  actor: string
  action: string
  subject: string
  request_id: string | null
}

export async function change(
  world: World,
  { url }: LociProcess,
  action: 'enable' | 'disable',
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(`${url}/admin/services/${action}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-loci-admin-token': world.adminToken, ...headers },
    body: JSON.stringify(body),
  })
  return {
    status: answer.status,
    requestId: answer.headers.get('x-request-id') ?? '',
    retryAfter: answer.headers.get('retry-after'),
    body: (await answer.json()) as Answer['body'],
  }
}

/** As the replica sees it. /admin/services/status would read the switches anew. */
export async function stateOf({ url }: LociProcess, name: string): Promise<string | undefined> {
  const answer = await fetch(`${url}/health/startup`)
  const { services } = (await answer.json()) as { services?: Record<string, string> }
  return services?.[name]
}

export async function untilState(daemons: LociProcess[], name: string, isDisabled: boolean): Promise<number> {
  const startedAt = performance.now()
  while (performance.now() - startedAt < 60_000) {
    const states = await Promise.all(daemons.map((daemon) => stateOf(daemon, name)))
    if (states.every((state) => (state === 'disabled') === isDisabled)) break
    await sleep(10)
  }
  return Math.round(performance.now() - startedAt)
}

/** With the eyes of the superuser, whom row-level security does not bind. */
export function auditRows(world: World): Promise<AuditRow[]> {
  return runSql<AuditRow>(
    world.postgres.adminUrl('loci_cell'),
    `select id, actor, action, subject, request_id from loci.audit where chain = 'cell' order by at, id`,
  )
}

export async function enabledRows(world: World): Promise<Set<string>> {
  const rows = await runSql<{ name: string }>(
    world.postgres.adminUrl('loci_cell'),
    'select name from loci.subservices where enabled order by name',
  )
  return new Set(rows.map(({ name }) => name))
}
