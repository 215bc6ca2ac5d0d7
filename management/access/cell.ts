// Access of a cell (CONTRACT 8): `Authorization: Bearer` with a JWS that the cell signs itself, for this management, for a minute.
// Pinned like every JWS of ours: one algorithm, one type, nothing in the header decides how it is verified.

import { decodeJws, publicKeyOf, verifyJws } from '@loci/capability/jws.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Access } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'

const CELL_TOKEN_TYPE = 'loci-cell+jwt'
const LIFE_S_MAX = 60
const TOLERANCE_S = 30

export interface CellCaller {
  cellId: string
  /** Of the token: a report is taken once for each. */
  jti: string
}

interface CellAccessOptions {
  /** The public keys of a cell (Ed25519 x); none when there is no such cell. */
  findCellKeys(cellId: string): Promise<string[]>
  /** Where cells reach us: the audience of their tokens. */
  publicUrl: string
  nowMs?: () => number
}

export function cellAccess({ findCellKeys, publicUrl, nowMs = Date.now }: CellAccessOptions): Access<CellCaller> {
  return {
    class: 'cell',
    schemes: [['cell']],
    errors: ['UNAUTHENTICATED', 'STORE_UNAVAILABLE'],
    async authorize({ headers }) {
      const text = /^Bearer ([\w.-]{1,2048})$/.exec(headers.authorization?.toString() ?? '')?.[1]
      const token = text === undefined ? undefined : decodeJws(text)
      if (!token || !isHeader(token.header)) throw refused()
      const { iss, aud, iat, exp, jti } = token.claims
      // Everything that costs nothing first; the database is asked only about what could be a cell's.
      if (typeof iss !== 'string' || !isId('cell', iss) || aud !== publicUrl) throw refused()
      if (typeof jti !== 'string' || jti.length < 1 || jti.length > 100 || !isInTime(iat, exp, nowMs() / 1000))
        throw refused()
      const keys = await findCellKeys(iss)
      const isSigned = keys.some((x) => {
        const key = publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x })
        return key !== undefined && verifyJws(token.text, key)
      })
      if (!isSigned) throw refused()
      return { cellId: iss, jti }
    },
  }
}

function isHeader(header: Record<string, unknown>): boolean {
  const { alg, typ, kid, ...rest } = header
  const isKid = kid === undefined || typeof kid === 'string'
  return alg === 'EdDSA' && typ === CELL_TOKEN_TYPE && isKid && Object.keys(rest).length === 0
}

function isInTime(iat: unknown, exp: unknown, now: number): boolean {
  if (!Number.isSafeInteger(iat) || !Number.isSafeInteger(exp)) return false
  const from = iat as number
  const until = exp as number
  return until > from && until - from <= LIFE_S_MAX && now >= from - TOLERANCE_S && now < until + TOLERANCE_S
}

/** One text for every reason: whoever tries keys must not learn which cells there are. */
function refused(): ApiError {
  return new ApiError(
    'UNAUTHENTICATED',
    `This route needs Authorization: Bearer with a ${CELL_TOKEN_TYPE} of a registered cell, made for this management, at most ${LIFE_S_MAX} s old.`,
  )
}
