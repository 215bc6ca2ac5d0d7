import { type Claim, inProgress, type StoredAnswer } from '@loci/acts/idempotency/idempotency.ts'
import { sqlState } from '@loci/postgres/errors.ts'
import type { Lock } from '@loci/postgres/lock-order.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute, transaction } from '@loci/postgres/transaction.ts'
import { instanceRow, LOCKS } from '../databases/locks.ts'

/**
 * As the functions take claims of one route, sealed with one key: databases, holders, keys, fingerprints. Others would
 * be filed where no repeat looks for them; a shared call that has them fails here, and each of it is then tried alone.
 */
export function claimValues(claims: Claim[]): string[][] {
  const [first] = claims
  const isOther = ({ scope, sealedWith }: Claim) => scope[2] !== first?.scope[2] || sealedWith !== first?.sealedWith
  if (claims.some(isOther)) throw new Error('claims of different routes or keys in one call')
  const column = (at: number) => claims.map(({ scope }) => scope[at] as string)
  return [column(1), column(3), column(4), claims.map(({ fingerprint }) => fingerprint.toString('hex'))]
}

/**
 * Those with a claim, in the order in which every call takes their locks. By the whole scope: by the key alone two
 * calls with the same key in two databases, or of two holders, took them crosswise.
 */
export function inClaimOrder<Item extends { claim?: Claim | undefined }>(items: Item[]): (Item & { claim: Claim })[] {
  const textOf = ({ claim }: { claim: Claim }) => claim.scope.join('\x1f')
  return items
    .filter((item): item is Item & { claim: Claim } => item.claim !== undefined)
    .sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1))
}

/** What claim_keys() locks. */
export function claimLocks(claims: readonly Claim[]): Lock[] {
  return claims.map(({ scope }) => LOCKS.lock('idempotency key', scope.join('\x1f')))
}

/**
 * Removes answers that are older than a day and stopped a call, which is then made again. In a transaction of its own:
 * it ends with the row of the instance, and the work of the claim begins with the heads of databases.
 */
export async function dropExpired(
  pool: Pool,
  claiming: { claim: Claim }[],
  stopped: { claim?: number | null; outcome: string }[],
): Promise<void> {
  const expired = stopped.flatMap(({ claim, outcome }) =>
    outcome === 'expired' ? [(claiming[Number(claim) - 1] as { claim: Claim }).claim] : [],
  )
  if (expired.length === 0) return
  const [databases, holders, keys] = claimValues(expired)
  await execute(pool, {
    name: 'drop_expired_answers',
    text: 'select loci.drop_expired_answers($1, $2, $3, $4, $5)',
    values: [expired[0]?.scope[0], expired[0]?.scope[2], databases, holders, keys],
    locks: () => [instanceRow(expired[0]?.scope[0] as string)],
  })
}

/** A first request with the key is at work, and did not end within our wait for it. */
export function isClaimed(error: unknown): boolean {
  const { where = '' } = error as { where?: string }
  return sqlState(error) === '55P03' && /function loci\.(?:claim_keys|keep_answers)\(/.test(where)
}

/** Of a key that is known. */
export function findAnswer(pool: Pool, scope: string[]): Promise<StoredAnswer | undefined> {
  const read = async (sql: Sql) => {
    await showInstance(sql, scope[0] as string)
    return findAnswerIn(sql, scope)
  }
  return transaction(pool, read, { readOnly: true })
}

/** To the end of the transaction; locks nothing. */
export async function showInstance(sql: Sql, instanceId: string): Promise<void> {
  await sql.query({ name: 'context_set', text: `select set_config('loci.instance', $1, true)`, values: [instanceId] })
}

/** In a transaction that has the instance's rows in sight. */
export async function findAnswerIn(sql: Sql, scope: string[]): Promise<StoredAnswer | undefined> {
  const { rows } = await sql.query<StoredAnswer>({
    name: 'idempotency_find',
    text: `select fingerprint, sealed_with as "sealedWith", status, answer as body, null as headers, null as ref
      from loci.idempotency where instance_id = $1 and database = $2 and route = $3 and holder = $4 and key = $5
        and created_at >= clock_timestamp() - interval '24 hours'`,
    values: scope,
  })
  return rows[0]
}

/** Undefined for the first; a second one waits here until the first has committed or gone. */
export async function claimKey(sql: Sql, claim: Claim): Promise<'known' | 'answers' | 'expired' | undefined> {
  const [databases, holders, keys] = claimValues([claim])
  const { rows } = await sql.query<{ outcome: 'known' | 'answers' | 'expired' }>({
    name: 'claim_keys',
    text: 'select outcome from loci.claim_keys($1, $2, $3, $4, $5)',
    values: [claim.scope[0], claim.scope[2], databases, holders, keys],
    locks: () => claimLocks([claim]),
  })
  return rows[0]?.outcome
}

/** Of a key whose first request may still be at work: waits for it. For one that would be refused without an answer. */
export function settledAnswer(pool: Pool, claim: Claim): Promise<StoredAnswer | undefined> {
  return transaction(pool, async (sql) => {
    await showInstance(sql, claim.scope[0] as string)
    const outcome = await claimKey(sql, claim).catch((error) => {
      throw isClaimed(error) ? inProgress() : error
    })
    return outcome === 'known' ? findAnswerIn(sql, claim.scope) : undefined
  })
}

export async function keepAnswer(sql: Sql, claim: Claim, kept: object): Promise<void> {
  await sql.query({
    name: 'keep_answers',
    text: 'select loci.keep_answers($1, $2, $3, $4, $5, $6, $7, $8)',
    values: [claim.scope[0], claim.scope[2], claim.sealedWith, ...claimValues([claim]), [JSON.stringify(kept)]],
    locks: () => [instanceRow(claim.scope[0] as string)],
  })
}

/** Removes answers that are older than a day, of up to 20 instances; how many there were. */
export async function sweepAnswers(sql: Sql, limit: number): Promise<number> {
  const { rows } = await sql.query<{ id: string }>({
    name: 'idempotency_old_instances',
    text: `select id from loci.instances where keyed_since < now() - interval '24 hours' order by keyed_since limit 20`,
  })
  let removed = 0
  let failure: unknown
  for (const { id } of rows) {
    try {
      const swept = await sql.query<{ removed: number }>({
        name: 'idempotency_sweep',
        text: 'select loci.sweep_answers($1, $2) as removed',
        values: [id, limit],
        locks: () => [instanceRow(id)],
      })
      removed += swept.rows[0]?.removed ?? 0
    } catch (error) {
      // One instance in trouble must not keep the sweeper from the others; whoever called logs it.
      failure ??= error
    }
  }
  if (failure) throw new Error('delete stored answers of Idempotency-Keys', { cause: failure })
  return removed
}
