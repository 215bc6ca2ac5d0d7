// Access of a cell: `Authorization: Bearer` with a JWS that the cell signs itself, for this management,
// for a minute. Pinned like every JWS of ours: one algorithm, one type, nothing in the header decides how it is
// verified.

import { decodeJws, publicKeyOf, verifyJws } from '@loci/capability/jws.ts'
import { type AddressSet, clientAddress } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Failures } from '@loci/chassis/failures.ts'
import type { Log } from '@loci/chassis/log.ts'
import type { Access } from '@loci/chassis/route.ts'
import type { CellRefusal } from '@loci/contract/cells.ts'
import { isId } from '@loci/contract/ids.ts'
import { slowed } from './caller.ts'

const CELL_TOKEN_TYPE = 'loci-cell+jwt'
const LIFE_S_MAX = 60
const TOLERANCE_S = 30
const LOG_MS = 60_000
/** Lines a minute in all: an unauthenticated client can name any number of cells. */
const LOGGED_MAX = 100
/**
 * How often the database is asked about tokens that no known cell has signed. Without this, 900 connections with tokens
 * of invented cells held the slots that are reserved for cells: no revocation reached a cell within 9 s (measured).
 */
const STRANGERS_PER_SECOND = 20
const STRANGERS_AT_ONCE_MAX = 20

export interface CellCaller {
  cellId: string
  /** Of the token: a report is taken once for each. */
  jti: string
  /** The replica of the cell that calls, as it names itself, and its address. */
  replica: string
  address: string
}

interface CellAccessOptions {
  /** The public keys of every cell (Ed25519 x), by its id: there are few. */
  listCellKeys(): Promise<Map<string, string[]>>
  /** Those of one, at this moment; none when there is no such cell. */
  findCellKeys(cellId: string): Promise<string[]>
  /** Where cells reach us: the audience of their tokens. */
  publicUrl: string
  log: Log
  failures: Failures
  trustedProxies: AddressSet
  nowMs?: () => number
}

export function cellAccess({
  listCellKeys,
  findCellKeys,
  publicUrl,
  log,
  trustedProxies,
  nowMs = Date.now,
  ...slowing
}: CellAccessOptions): Access<CellCaller> {
  const isNews = createNews(nowMs)
  const mayAsk = createAllowance()
  let known = new Map<string, string[]>()

  /** Undefined: accepted. The database is asked about an unknown cell or key only so often. */
  async function refusalOfKey(cellId: string, text: string): Promise<CellRefusal | undefined> {
    if (!isSigned(text, known.get(cellId)) && mayAsk()) known = await listCellKeys()
    const remembered = known.get(cellId)
    if (!remembered) return 'unknown_cell'
    // A key that was removed meanwhile is refused at once.
    return isSigned(text, remembered) && isSigned(text, await findCellKeys(cellId)) ? undefined : 'unknown_key'
  }

  return {
    class: 'cell',
    schemes: [['cell']],
    lane: 'cell',
    // The holder of one cell's key must not take the slots of other cells.
    shareOf: ({ cellId }) => cellId,
    challenge: 'Bearer realm="loci cell"',
    errors: ['UNAUTHENTICATED', 'RATE_LIMITED', 'STORE_UNAVAILABLE'],
    async authorize({ headers, peer, requestId }) {
      const refused = (refusal: CellRefusal, cellId?: string): unknown => {
        // A request that names no cell has its request line and no other.
        if (cellId && isNews(`${peer} ${cellId} ${refusal}`)) {
          const reason = `${cellId}: ${REFUSALS[refusal]}`
          log.warn({ requestId, address: peer, code: refusal, reason }, 'a cell was refused')
        }
        return slowed(refusalOf(refusal, publicUrl), { peer, headers }, { ...slowing, trustedProxies })
      }
      const text = /^Bearer ([\w.-]{1,2048})$/.exec(headers.authorization?.toString() ?? '')?.[1]
      const token = text === undefined ? undefined : decodeJws(text)
      if (!token || !isHeader(token.header)) throw refused('token')
      const { iss, aud, iat, exp, jti, rep } = token.claims
      // Cheap checks first: the database is asked only about a token that could be a cell's.
      if (typeof iss !== 'string' || !isId('cell', iss)) throw refused('token')
      if (typeof jti !== 'string' || jti.length < 1 || jti.length > 100) throw refused('token', iss)
      if (aud !== publicUrl) throw refused('audience', iss)
      const time = timeOf(iat, exp, nowMs() / 1000)
      if (time !== 'good') throw refused(time, iss)
      const wrong = await refusalOfKey(iss, token.text)
      if (wrong) throw refused(wrong, iss)
      const address = clientAddress(peer, headers, trustedProxies) ?? peer
      const replica = typeof rep === 'string' && rep.length <= 100 ? `${rep} ${address}` : address
      return { cellId: iss, jti, replica, address }
    },
  }
}

function isSigned(text: string, keys: string[] = []): boolean {
  return keys.some((x) => {
    const key = publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x })
    return key !== undefined && verifyJws(text, key)
  })
}

function createAllowance(): () => boolean {
  let left = STRANGERS_AT_ONCE_MAX
  let at = performance.now()
  return () => {
    const now = performance.now()
    left = Math.min(STRANGERS_AT_ONCE_MAX, left + ((now - at) / 1_000) * STRANGERS_PER_SECOND)
    at = now
    if (left < 1) return false
    left -= 1
    return true
  }
}

function isHeader(header: Record<string, unknown>): boolean {
  const { alg, typ, kid, ...rest } = header
  const isKid = kid === undefined || typeof kid === 'string'
  return alg === 'EdDSA' && typ === CELL_TOKEN_TYPE && isKid && Object.keys(rest).length === 0
}

function timeOf(iat: unknown, exp: unknown, now: number): 'good' | 'clock' | 'token' {
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return 'token'
  const from = iat as number
  const until = exp as number
  if (until <= from || until - from > LIFE_S_MAX) return 'token'
  return now >= from - TOLERANCE_S && now < until + TOLERANCE_S ? 'good' : 'clock'
}

const REFUSALS: Record<CellRefusal, string> = {
  token: 'this is no valid cell token (good for more than 60 s, or without a jti): does the cell run another release?',
  audience: 'its LOCI_MANAGEMENT_URL is not our LOCI_PUBLIC_URL',
  clock: 'the clocks of the cell and of management differ by more than 30 s',
  unknown_cell: 'there is no cell with this id; `management cells list` shows those there are',
  unknown_key: 'signed with a key that is not registered for this cell; `management cells keys` changes them',
}

/**
 * A cell is told which of its settings is wrong: four causes with one text kept operators looking for hours. What a
 * stranger learns by it is whether an id of 74 random bits is a cell's
 * (docs/decisions/2026-11-15-cells-are-told-why.md).
 */
function refusalOf(reason: CellRefusal, publicUrl: string): ApiError {
  const messages: Record<CellRefusal, string> = {
    token: `This route needs Authorization: Bearer with a ${CELL_TOKEN_TYPE} of a registered cell, good for at most ${LIFE_S_MAX} s.`,
    audience: `The token is for another management. This one is ${publicUrl}: set LOCI_MANAGEMENT_URL of the cell to that.`,
    clock: 'The token has expired or is not valid yet: compare the clock of the cell with the Date of this answer.',
    unknown_cell: 'There is no cell with this id. Compare LOCI_CELL_ID of the cell with: management cells list',
    unknown_key: 'The key that signed is not registered for this cell. Register it with: management cells keys',
  }
  const details = { reason, ...(reason === 'audience' ? { public_url: publicUrl } : {}) }
  return new ApiError('UNAUTHENTICATED', messages[reason], { details })
}

/** At most one line a minute for the same refusal of the same peer: a cell that is refused asks every few seconds. */
function createNews(nowMs: () => number): (key: string) => boolean {
  const loggedAt = new Map<string, number>()
  return (key) => {
    const now = nowMs()
    if (now - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < LOG_MS) return false
    if (loggedAt.size >= LOGGED_MAX) for (const [old, at] of loggedAt) if (now - at >= LOG_MS) loggedAt.delete(old)
    if (loggedAt.size >= LOGGED_MAX) return false
    loggedAt.set(key, now)
    return true
  }
}
