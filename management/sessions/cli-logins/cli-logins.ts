// A command line that signs in. It begins without any credential and shows a code; a person who is signed in compares
// the code and approves; the command line, which alone has the device code, gets an API key of that person, once.
//
//   open → approved → delivered, or → denied. Over after ten minutes, whatever it is
//
// The id and the code are seen in a browser, so neither is enough to fetch the key. The key is made when it is fetched:
// nothing that could be stolen waits in the database.

import { createHash, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { Act } from '@loci/acts/audit/audit.ts'
import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { SealingKey } from '@loci/chassis/setting-values.ts'
import { SCOPES } from '@loci/contract/roles.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { requireStillSession } from '../../access/own.ts'
import { useOrganization } from '../../access/store.ts'
import { issueApiKey, makeRoomFor, requireRoom } from '../../api-keys/api-keys.ts'
import { type CliLogin, findIdByCode, insertLogin, lockLogin, lockMember, saveLogin } from './store.ts'

export const LIFE_S = 600
export const INTERVAL_S = 5
const KEY_LIFE_MS = 30 * 86_400_000
/** Of a person in an organization: any member can sign in here, and must not use up what the organization may have. */
const KEYS_MAX = 10
/** Without vowels, so that no words come out, and without what looks alike. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const TRIES_MAX = 5

export interface BegunLogin {
  id: string
  userCode: string
  deviceCode: string
}

export async function beginLogin(pool: Pool): Promise<BegunLogin> {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const letters = Array.from({ length: 8 }, () => LETTERS[randomInt(LETTERS.length)])
    const userCode = `${letters.slice(0, 4).join('')}-${letters.slice(4).join('')}`
    const [id, deviceCode] = [`cli_${randomBytes(15).toString('hex')}`, randomBytes(32).toString('base64url')]
    if (await insertLogin(pool, { id, userCode, deviceDigest: digestOf(deviceCode) }, LIFE_S))
      return { id, userCode, deviceCode }
  }
  throw new ApiError('OVERLOADED', 'Too many sign-ins of command lines are open. Nothing was done; try again.')
}

/** For a page, where a person has the code alone. */
export async function findLoginId(pool: Pool, userCode: string): Promise<string | undefined> {
  return /^[A-Z]{4}-[A-Z]{4}$/i.test(userCode) ? findIdByCode(pool, userCode.toUpperCase()) : undefined
}

/** In the organization in which the person acts. */
export async function decideLogin(
  sql: Sql,
  { organizationId, userId, sessionId }: { organizationId: string; userId: string | null; sessionId: string },
  { id, userCode, status }: { id: string; userCode: string; status: 'approved' | 'denied' },
  act: Act,
): Promise<void> {
  await requireStillSession(sql, sessionId)
  const login = await lockLogin(sql, id)
  if (!login || login.userCode !== userCode.toUpperCase()) throw noSuchLogin()
  if (login.status !== 'open')
    throw new ApiError('INVALID_STATE', 'This sign-in was decided already. Begin a new one on the command line.')
  await saveLogin(sql, { id, status, organizationId, userId, sessionId })
  const action = status === 'approved' ? 'cli_login.approve' : 'cli_login.deny'
  await appendAudit(sql, { ...act, chain: organizationId, action, subject: id, detail: { session_id: sessionId } })
}

export interface DeliveredKey {
  secret: string
  organizationId: string
  expiresAt: Date
}

/** Whether these can be of a sign-in that was begun here: nothing else is looked for. */
export function isLoginForm({ id, deviceCode }: { id: string; deviceCode: string }): boolean {
  return /^cli_[0-9a-f]{30}$/.test(id) && /^[\w-]{43}$/.test(deviceCode)
}

/** Undefined while nobody has decided. */
export async function pollLogin(
  pool: Pool,
  sealingKeys: SealingKey[],
  { id, deviceCode, requestId }: { id: string; deviceCode: string; requestId: string },
): Promise<DeliveredKey | undefined> {
  return transaction(pool, async (sql) => {
    const login = await lockLogin(sql, id)
    if (!login || !isDeviceCode(login, deviceCode) || login.status === 'delivered') throw noSuchLogin()
    if (login.status === 'denied') throw new ApiError('FORBIDDEN', 'The sign-in was denied in the browser.')
    return login.status === 'open' ? undefined : deliver(sql, sealingKeys, login, requestId)
  })
}

async function deliver(sql: Sql, sealingKeys: SealingKey[], login: CliLogin, requestId: string): Promise<DeliveredKey> {
  const { organizationId, userId, sessionId } = login as Record<'organizationId' | 'userId' | 'sessionId', string>
  await useOrganization(sql, organizationId)
  // Before the key, as whoever removes the member does it: then the removal finds the key.
  if (!(await lockMember(sql, organizationId, userId)))
    throw new ApiError('FORBIDDEN', 'Who approved this sign-in has left the organization since.')
  const now = new Date()
  const expiresAt = new Date(now.getTime() + KEY_LIFE_MS)
  // Every scope: a key never does more than its person may do on the day.
  const of = { organizationId, userId, sessionId }
  const request = { ...of, name: 'command line', scopes: [...SCOPES], tenantIds: null, expiresAt }
  const by = { actor: userId, requestId }
  // The oldest goes, for most people may not delete keys themselves.
  await makeRoomFor(sql, request, KEYS_MAX, by)
  const { secret } = await issueApiKey(sql, sealingKeys, request, by, now)
  await requireRoom(sql, organizationId)
  await saveLogin(sql, { ...login, status: 'delivered' })
  return { secret, organizationId, expiresAt }
}

function isDeviceCode({ deviceDigest }: CliLogin, code: string): boolean {
  return timingSafeEqual(Buffer.from(deviceDigest), Buffer.from(digestOf(code)))
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('hex')
}

export function noSuchLogin(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such sign-in: it is over, was fetched, or never was. Begin a new one.')
}
