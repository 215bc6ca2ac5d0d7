// What a cell says about what it holds.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { Report } from '@loci/contract/reports.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { CellCaller } from '../access/cell.ts'
import { findOwner, useOrganization } from '../access/store.ts'
import { adopt } from '../provisioning/adoption.ts'
import { takeObserved } from '../provisioning/provisioning.ts'
import { listNews } from '../provisioning/store.ts'
import { revoke } from '../revocations/revocations.ts'
import { listPlaced, saveDeletions, saveLastUsed, saveUsage, takeReportId } from './store.ts'

export interface Heard {
  organizationId: string
  /** Those that somebody must look at again, now that their cell has spoken. */
  serviceIds: string[]
}

/**
 * First what is counted, revoked and deleted, whole or not at all; it is refused before anything is taken. Then each service of
 * which there is news in a transaction of its own: a cell that comes back tells of a thousand, and whoever works in their
 * organizations must not wait for all of them. Cut off in the midst it is told again, and the first half is old news then.
 */
export async function takeReport(
  pool: Pool,
  caller: CellCaller,
  report: Report,
  now: Date = new Date(),
): Promise<Heard[]> {
  const { cellId } = caller
  const placed = await transaction(pool, (sql) => takeAccounts(sql, caller, report))
  const heard = new Map<string, string[]>()
  const told = new Map(report.observed.map((one) => [one.svc, one]))
  for (const organizationId of new Set(placed.values())) {
    const observed = report.observed.filter(({ svc }) => placed.get(svc) === organizationId)
    for (const svc of observed.length > 0 ? await readNews(pool, organizationId, observed) : []) {
      const { generation, state } = told.get(svc) as Report['observed'][number]
      await transaction(pool, (sql) => takeObserved(sql, { organizationId, cellId, svc, generation, state }, now))
      heard.set(organizationId, [...(heard.get(organizationId) ?? []), svc])
    }
  }
  for (const instance of report.unknown)
    if (await transaction(pool, (sql) => adopt(sql, cellId, instance, now)))
      heard.set(instance.org, [...(heard.get(instance.org) ?? []), instance.svc])
  return [...heard].map(([organizationId, serviceIds]) => ({ organizationId, serviceIds }))
}

function readNews(pool: Pool, organizationId: string, observed: Report['observed']): Promise<string[]> {
  const read = async (sql: Sql) => {
    await useOrganization(sql, organizationId)
    return listNews(sql, organizationId, observed)
  }
  return transaction(pool, read, { readOnly: true })
}

/** Whose the instances are that it names. */
async function takeAccounts(sql: Sql, { cellId, jti }: CellCaller, report: Report): Promise<Map<string, string>> {
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
  for (const revocation of report.revocations) await takeRevocation(sql, cellId, revocation)
  if (report.deletions.length > 0) await saveDeletions(sql, cellId, report.deletions)
  for (const organizationId of [...new Set(placed.values())].sort()) {
    const usage = report.usage.filter(({ svc }) => placed.get(svc) === organizationId)
    if (usage.length === 0) continue
    await useOrganization(sql, organizationId)
    await saveUsage(sql, organizationId, usage)
  }
  for (const { credential, at } of report.last_used) {
    const owner = await findOwner(sql, credential)
    // One that was moved meanwhile, or that this database no longer has: no reason to refuse the rest.
    if (owner?.cellId !== cellId) continue
    await useOrganization(sql, owner.organizationId)
    await saveLastUsed(sql, credential, at)
  }
  return placed
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
