// Instances that a cell has and this database does not know, because it was restored or lost a row. They may be a
// customer's data: they are adopted where their tenant exists, else put into quarantine. Only staff delete one.
//
// A thief of a cell's key can name instances too. So one is adopted only when a restore explains it (the epoch of the
// feed has changed, and its id is older than that), or when staff ask for it; and it is `failed` (`recovered`)
// until its owner accepts it: it uses no quota, pushes no other out of the plan, and nothing is published for it.

import { appendAudit } from '@loci/acts/audit/store.ts'
import { newId, timeOfId } from '@loci/contract/ids.ts'
import type { Report } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { findOwner, useOrganization } from '../access/store.ts'
import { appendEvents, type EventEntry } from '../acts/events/store.ts'
import { noteEpoch } from '../acts/feed/store.ts'
import { lockCell } from '../acts/locks/store.ts'
import { slugOf } from '../slugs.ts'
import { putDue, reconcileSoon } from './due/store.ts'
import { isTooFarAhead, observe } from './observe.ts'
import { finish, newOperation } from './operations/operation.ts'
import { saveOperation } from './operations/store.ts'
import { saveTransition } from './provisioning.ts'
import { countQuarantined, deleteQuarantined, saveQuarantined } from './quarantine/store.ts'
import { findPlaced, insertAdopted, type ObservedRow } from './store.ts'

export type Unknown = Report['unknown'][number]

const QUARANTINED_MAX = 10_000
/** A cell that comes back later than this after a restore is staff's to decide on. */
const RESTORED_MS_MAX = 7 * 86_400_000

/** One of them, in a transaction of its own. */
export async function adopt(
  sql: Sql,
  cellId: string,
  instance: Unknown,
  now: Date,
): Promise<'adopted' | 'quarantined' | 'gone'> {
  // Nothing is left of it in the cell, so there is nothing to take back.
  if (instance.state === 'deleted') return 'gone'
  await lockCell(sql, cellId)
  const isExplained = isBeforeRestore(instance.svc, await noteEpoch(sql), now)
  const events = isExplained ? await adoptOne(sql, cellId, instance, now, false) : undefined
  if (!events) await quarantine(sql, cellId, instance)
  else await appendEvents(sql, events, now)
  return events ? 'adopted' : 'quarantined'
}

/** On request of staff. Answers the events that are left to append; undefined when it cannot be adopted. */
export async function adoptByStaff(
  sql: Sql,
  cellId: string,
  instance: Unknown,
  now: Date,
): Promise<EventEntry[] | undefined> {
  if (instance.state === 'deleted') return undefined
  await lockCell(sql, cellId)
  return adoptOne(sql, cellId, instance, now, true)
}

/** Said of a service that is not placed in the cell. False when there is none, or it was said before. */
export async function quarantineForeign(sql: Sql, cellId: string, { svc, generation, state }: ObservedRow) {
  const owner = await findOwner(sql, svc)
  if (!owner) return false
  await useOrganization(sql, owner.organizationId)
  const placed = await findPlaced(sql, owner.organizationId, svc, { lock: false })
  if (!placed) return false
  const { serviceType: service_type, plan, tenantId: ten } = placed
  return quarantine(sql, cellId, { svc, org: owner.organizationId, ten, service_type, plan, generation, state })
}

/** In the audit of its organization, where that is here, once. */
async function quarantine(sql: Sql, cellId: string, one: Parameters<typeof saveQuarantined>[2]): Promise<boolean> {
  if ((await countQuarantined(sql, cellId)) >= QUARANTINED_MAX) return false
  if (!(await saveQuarantined(sql, cellId, one))) return false
  const tenant = await findOwner(sql, one.ten)
  if (tenant?.organizationId !== one.org) return true
  await useOrganization(sql, one.org)
  await audit(sql, cellId, one, 'service.quarantine')
  return true
}

function isBeforeRestore(svc: string, restoredAt: Date | null, now: Date): boolean {
  if (restoredAt === null || now.getTime() - restoredAt.getTime() > RESTORED_MS_MAX) return false
  return timeOfId(svc) < restoredAt.getTime()
}

/** The events that are left to append; undefined when its tenant is not here, or it is placed in another cell. */
async function adoptOne(
  sql: Sql,
  cellId: string,
  instance: Unknown,
  now: Date,
  byStaff: boolean,
): Promise<EventEntry[] | undefined> {
  const service = await findOwner(sql, instance.svc)
  if (service)
    return service.organizationId === instance.org ? takeBack(sql, cellId, instance, now, byStaff) : undefined
  const tenant = await findOwner(sql, instance.ten)
  if (tenant?.organizationId !== instance.org) return undefined
  await useOrganization(sql, instance.org)
  const operation = finish(newOperation(newId('op', now.getTime()), 'provision', now), 'succeeded', now)
  await insertAdopted(sql, {
    id: instance.svc,
    organizationId: instance.org,
    tenantId: instance.ten,
    name: 'Recovered service',
    slug: slugOf('recovered', 'service'),
    serviceType: instance.service_type,
    plan: instance.plan,
    cellId,
    state: instance.state === 'suspended' ? 'suspended' : 'active',
    generation: instance.generation,
    operationId: operation.id,
    now,
  })
  await saveOperation(sql, instance.org, instance.svc, operation)
  await putDue(sql, instance.org, instance.svc, now)
  await deleteQuarantined(sql, cellId, instance.svc)
  await audit(sql, cellId, instance, 'service.adopt')
  return [adoptedEvent(instance)]
}

/** Known here without a cell: restored from before its placement. Placed elsewhere, it is quarantined. */
async function takeBack(
  sql: Sql,
  cellId: string,
  instance: Unknown,
  now: Date,
  byStaff: boolean,
): Promise<EventEntry[] | undefined> {
  await useOrganization(sql, instance.org)
  const placed = await findPlaced(sql, instance.org, instance.svc, { lock: true })
  if (!placed) return undefined
  const { generation, state } = instance
  if (isTooFarAhead(placed.state, generation) && !byStaff) return undefined
  const next = observe(placed.state, { cellId, generation, state }, now)
  if (next.state.cellId !== cellId) return undefined
  const events = await saveTransition(sql, instance.org, placed, next, now)
  await deleteQuarantined(sql, cellId, instance.svc)
  // Else it was adopted before: the cell repeats its report until it has the answer.
  if (placed.state.cellId !== cellId) await audit(sql, cellId, instance, 'service.adopt')
  const adopted = placed.state.cellId === cellId ? [] : [adoptedEvent(instance)]
  reconcileSoon(sql, instance.org, instance.svc)
  return [...events, ...adopted]
}

type Described = Pick<Unknown, 'org' | 'ten' | 'svc' | 'generation'>

async function audit(sql: Sql, cellId: string, { org, ten, svc, generation }: Described, action: string) {
  const detail = { tenant_id: ten, cell_id: cellId, generation }
  await appendAudit(sql, { chain: org, actor: cellId, action, subject: svc, detail })
}

function adoptedEvent({ org, ten, svc }: Unknown): EventEntry {
  return { organizationId: org, type: 'service.adopted', subject: svc, data: { tenant_id: ten } }
}
