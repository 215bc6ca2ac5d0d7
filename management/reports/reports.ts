// What a cell says about what it holds. A report is taken whole or not at all.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { Report } from '@loci/contract/reports.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import type { CellCaller } from '../access/cell.ts'
import { findOwner, useOrganization } from '../access/store.ts'
import { adopt } from '../provisioning/adoption.ts'
import { takeObserved } from '../provisioning/provisioning.ts'
import { lockFeeds, revoke } from '../revocations/revocations.ts'
import { listPlaced, saveDeletions, saveLastUsed, saveUsage, takeReportId } from './store.ts'

export interface Heard {
  organizationId: string
  /** Those that somebody must look at again, now that their cell has spoken. */
  serviceIds: string[]
}

export async function takeReport(
  sql: Sql,
  { cellId, jti }: CellCaller,
  report: Report,
  now: Date = new Date(),
): Promise<Heard[]> {
  if (!(await takeReportId(sql, cellId, jti)))
    throw new ApiError('UNAUTHENTICATED', 'A report came with this token before. Make a new token for each report.')
  const named = new Set([...report.observed, ...report.usage, ...report.deletions].map(({ svc }) => svc))
  const placed = await listPlaced(sql, cellId, [...named])
  const foreign = [...named].filter((svc) => !placed.has(svc))
  if (foreign.length > 0)
    throw new ApiError('NOT_FOUND', 'The report names instances that are not placed in this cell. Leave them out.', {
      details: { instances: foreign.slice(0, 100) },
    })

  // First what locks the cell's row: every other change of a feed begins with it, and two orders would deadlock.
  if (report.unknown.length > 0) await lockFeeds(sql, [cellId])
  for (const revocation of report.revocations) await takeRevocation(sql, cellId, revocation)
  if (report.deletions.length > 0) await saveDeletions(sql, cellId, report.deletions)
  const heard: Heard[] = []
  const isOf = (organizationId: string) => (row: { svc: string }) => placed.get(row.svc) === organizationId
  for (const organizationId of [...new Set(placed.values())].sort()) {
    await useOrganization(sql, organizationId)
    const observed = report.observed.filter(isOf(organizationId))
    const serviceIds = await takeObserved(sql, { organizationId, cellId, observed, now })
    if (observed.length > 0) heard.push({ organizationId, serviceIds })
    await saveUsage(sql, organizationId, report.usage.filter(isOf(organizationId)))
  }
  for (const { organizationId, serviceId } of await adopt(sql, cellId, report.unknown, now))
    heard.push({ organizationId, serviceIds: [serviceId] })
  for (const { credential, at } of report.last_used) {
    const owner = await findOwner(sql, credential)
    // One that was moved meanwhile, or that this database no longer has: no reason to refuse the rest.
    if (owner?.cellId !== cellId) continue
    await useOrganization(sql, owner.organizationId)
    await saveLastUsed(sql, credential, at)
  }
  return heard
}

/** Kept, and given back to this cell alone: a cell restored from a backup hears again what its administration revoked. */
async function takeRevocation(sql: Sql, cellId: string, given: Report['revocations'][number]): Promise<void> {
  const { kind, value, not_before, expires_at, audit_id } = given
  const revocation = {
    kind,
    svc: kind === 'jti' ? '*' : '',
    value,
    cellId,
    notBefore: not_before === null ? null : new Date(not_before),
    expiresAt: new Date(expires_at),
    auditId: audit_id,
  }
  await revoke(sql, revocation, [cellId])
}
