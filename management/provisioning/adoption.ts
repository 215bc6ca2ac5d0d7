// Instances that a cell has and this database does not know, because it was restored or lost a row. They are somebody's data: they
// are taken back where their tenant is here, and kept aside where it is not. Only the word of staff deletes one.

import { newId } from '@loci/contract/ids.ts'
import type { Report } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { findOwner, useOrganization } from '../access/store.ts'
import { appendAudit } from '../audit/store.ts'
import { appendEvents, type EventEntry } from '../events/store.ts'
import { lockCell } from '../feed/store.ts'
import { finish, newOperation } from '../operations/operation.ts'
import { saveOperation } from '../operations/store.ts'
import { slugOf } from '../slugs.ts'
import { observe } from './lifecycle.ts'
import { saveTurn } from './provisioning.ts'
import { deleteQuarantined, findPlaced, insertAdopted, putDue, saveQuarantined } from './store.ts'

type Unknown = Report['unknown'][number]

/** One of them, in a transaction of its own. False when it was put aside, or is not there any more. */
export async function adopt(sql: Sql, cellId: string, instance: Unknown, now: Date): Promise<boolean> {
  // Nothing is left of it in the cell, so there is nothing to take back.
  if (instance.state === 'deleted') return false
  await lockCell(sql, cellId)
  if (await adoptOne(sql, cellId, instance, now)) {
    await deleteQuarantined(sql, cellId, instance.svc)
    return true
  }
  await saveQuarantined(sql, cellId, instance)
  return false
}

async function adoptOne(sql: Sql, cellId: string, instance: Unknown, now: Date): Promise<boolean> {
  const service = await findOwner(sql, instance.svc)
  if (service) return service.organizationId === instance.org && (await takeBack(sql, cellId, instance, now))
  const tenant = await findOwner(sql, instance.ten)
  if (tenant?.organizationId !== instance.org) return false
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
  await audit(sql, cellId, instance)
  await appendEvents(sql, [adoptedEvent(instance)], now)
  return true
}

/** Known, and without a place: it was restored from before it had one. With another place the stray one is kept aside. */
async function takeBack(sql: Sql, cellId: string, instance: Unknown, now: Date): Promise<boolean> {
  await useOrganization(sql, instance.org)
  const placed = await findPlaced(sql, instance.org, instance.svc, { lock: true })
  if (!placed) return false
  const { generation, state } = instance
  const turn = observe(placed.life, { cellId, generation, state }, now)
  if (turn.life.cellId !== cellId) return false
  const events = await saveTurn(sql, instance.org, placed, turn, now)
  // Told before: the cell repeats itself until it hears.
  if (placed.life.cellId !== cellId) await audit(sql, cellId, instance)
  const adopted = placed.life.cellId === cellId ? [] : [adoptedEvent(instance)]
  await appendEvents(sql, [...events, ...adopted], now)
  return true
}

async function audit(sql: Sql, cellId: string, { org, ten, svc, generation }: Unknown): Promise<void> {
  const detail = { tenant_id: ten, cell_id: cellId, generation }
  await appendAudit(sql, { chain: org, actor: cellId, action: 'service.adopt', subject: svc, detail })
}

function adoptedEvent({ org, ten, svc }: Unknown): EventEntry {
  return { organizationId: org, type: 'service.adopted', subject: svc, data: { tenant_id: ten } }
}
