// `restore-instance`: one instance as it was in a restored copy of the cell's database, beside the living ones.
//
//   held        the instance answers 503, at most for an hour; every replica knows it, and what it had begun is over
//   replaced    all its databases in one transaction, when its ledger is with management: rows of the copy, under a new
//               life of each
//   replayed    the cell counts as restored: it answers 503 for the seconds in which it reads everything from
//               management and replays the ledger; with the end of that the instance answers again
//
// The hold is needed because a replica hears of a restore only with its next poll: until then it would serve what was
// deleted since the copy was made.

import { setTimeout as sleep } from 'node:timers/promises'
import { appendAudit } from '@loci/acts/audit/store.ts'
import type { Client, Pool } from '@loci/postgres/pool.ts'
import {
  begin,
  beginLives,
  beginReading,
  commit,
  countAgain,
  findCopied,
  findLiving,
  finish,
  holdInstance,
  isHeldThere,
  letGo,
  listEnded,
  listHeads,
  lockInstance,
  nextRows,
  oldestOf,
  openRows,
  putRows,
  readShape,
  takeAway,
} from './store.ts'

export interface Restored {
  databases: number
  rows: number
  /** Databases of the copy that were deleted since. */
  left_deleted: string[]
}

/** Said to the operator; nothing was done. */
export class NotRestoredError extends Error {}

const REPORTED_TRIES = 30
/**
 * Replicas poll three times a second, and after 3 s without a poll they ask for each request; whatever they had begun
 * before is over by its deadline.
 */
const HELD_MS = 15_000

export async function restoreInstance(
  living: Pool,
  copy: Pool,
  instanceId: string,
  heldMs = HELD_MS,
): Promise<Restored> {
  await inBoth(living, copy, instanceId, (to, from) => requireSame(to, from, instanceId))
  await holdInstance(living, instanceId)
  try {
    await sleep(heldMs)
    for (let tries = 1; tries <= REPORTED_TRIES; tries += 1) {
      const done = await inBoth(living, copy, instanceId, (to, from) => once(to, from, instanceId))
      if (done) return done
      await sleep(1_000)
    }
    throw new NotRestoredError(
      `management has not confirmed every deletion of ${instanceId}: what was deleted would come back. Bring management back, and try again`,
    )
  } finally {
    // Not when it was put back: its hold ends with the replay.
    await letGo(living, instanceId).catch(() => {})
  }
}

/** In a transaction of each. */
async function inBoth<Result>(
  living: Pool,
  copy: Pool,
  instanceId: string,
  work: (to: Client, from: Client) => Promise<Result>,
): Promise<Result> {
  const to = await living.client()
  const from = await copy.client().catch((error) => {
    to.release()
    throw error
  })
  try {
    await beginReading(from, instanceId)
    await begin(to, instanceId)
    const result = await work(to, from)
    await commit(to)
    return result
  } finally {
    // Where it was not committed, the end of the session takes it back.
    for (const client of [to, from]) client.release(new Error('done'))
  }
}

/** Undefined, and nothing was done: management does not have every deletion yet. */
async function once(to: Client, from: Client, instanceId: string): Promise<Restored | undefined> {
  await lockInstance(to, instanceId)
  if (await requireSame(to, from, instanceId)) return undefined
  const done = await replace(to, from, instanceId)
  if (!(await finish(to, instanceId)))
    throw new NotRestoredError(`${instanceId} was deleted meanwhile, or an hour was not enough to copy it`)
  return done
}

/** How many rows of the ledger management has not yet; throws when the copy is none of this instance. */
async function requireSame(to: Client, from: Client, instanceId: string): Promise<number> {
  const living = await findLiving(to, instanceId)
  if (!living || living.state === 'deleted')
    throw new NotRestoredError(`${instanceId} is not in this cell, or was deleted: what is deleted does not come back`)
  if (!living.isJoined)
    throw new NotRestoredError('the cell has no management, and so no ledger that says what was deleted since the copy')
  await lockInstance(to, instanceId)
  if (await isHeldThere(from, instanceId))
    throw new NotRestoredError('the copy is the database of the cell itself: name the restored one')
  const [here, there] = [await readShape(to), await readShape(from)]
  if (here.version !== there.version)
    throw new NotRestoredError(
      `the copy has schema ${there.version} and the cell ${here.version}: run migrate on the copy, with this release`,
    )
  for (const [table, columns] of here.tables)
    if (there.tables.get(table) !== columns) throw new NotRestoredError(`the copy has another table ${table}`)
  const copied = await findCopied(from, instanceId)
  if (!copied) throw new NotRestoredError(`${instanceId} is not in the copy`)
  if (living.keyAt !== null && copied.keyAt !== living.keyAt)
    throw new NotRestoredError(`${instanceId} has another key in the copy: it was made again since`)
  return living.unreported
}

async function replace(to: Client, from: Client, instanceId: string): Promise<Restored> {
  const heads = await listHeads(from, instanceId)
  const ended = await listEnded(to, instanceId, heads)
  const { tables } = await readShape(to)
  const names = [...tables.keys()]
  const former = await takeAway(to, instanceId, names)
  let count = 0
  for (const table of names) {
    await openRows(from, table, { instanceId, ended, oldest: await oldestOf(to, table) })
    for (let rows = await nextRows(from, table); rows.length > 0; rows = await nextRows(from, table)) {
      await putRows(to, table, rows)
      count += rows.length
    }
  }
  await beginLives(to, instanceId, former)
  const databases = heads.filter(({ name }) => !ended.includes(name)).map(({ name }) => name)
  await countAgain(to, instanceId, [...new Set([...databases, ...former.map(({ name }) => name)])])
  const done = { databases: databases.length, rows: count }
  const act = { chain: instanceId, actor: 'operator', action: 'instance.restore', subject: instanceId }
  await appendAudit(to, { ...act, detail: { ...done, left_deleted: ended.length } })
  return { ...done, left_deleted: ended }
}
