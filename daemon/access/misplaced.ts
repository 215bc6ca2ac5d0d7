// Errors for a request without a capability, or with another credential in its place: they name the right header. And
// the one other place that a capability may have.

import { ROOT_TYPE } from '@loci/capability/capability.ts'
import { decodeJws } from '@loci/capability/jws.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Arrival } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'

type Headers = Arrival['headers']

const WHERE_FROM = 'Management issues them: POST /api/v1/tenants/{id}/tokens with an API key.'

export function noCapability({ authorization }: Headers): ApiError {
  const bearer = /^Bearer\s+(\S+)$/i.exec(String(authorization ?? ''))?.[1]
  const isCapability = decodeJws(bearer?.split('~', 1)[0] ?? '')?.header.typ === ROOT_TYPE
  if (isCapability)
    return new ApiError(
      'CREDENTIAL_MISPLACED',
      `Send the capability in the header ${HEADER.capability}, not in Authorization.`,
    )
  // A partner credential in Authorization is in the right place; it just does not open this route.
  const other = bearer === undefined || bearer.startsWith('loci_ptr_') ? undefined : otherCredential(bearer)
  if (other) return new ApiError('CREDENTIAL_MISPLACED', `Authorization holds ${other}`)
  return new ApiError(
    'UNAUTHENTICATED',
    `This route needs a capability in the header ${HEADER.capability}. ${WHERE_FROM}`,
  )
}

/** Our other credentials are recognised by their prefix. */
export function otherCredential(text: string): string | undefined {
  if (text.startsWith('loci_sk_'))
    return `an API key (loci_sk_), which is for management. A daemon takes a capability in ${HEADER.capability}. ${WHERE_FROM}`
  if (text.startsWith('loci_ptr_'))
    return `a partner credential (loci_ptr_), which opens partner routes only, in Authorization: Bearer. This route takes a capability in ${HEADER.capability}. ${WHERE_FROM}`
  if (text.startsWith('loci_adm_'))
    return `an admin token (loci_adm_), which opens /admin only, in ${HEADER.adminToken}. This route takes a capability in ${HEADER.capability}. ${WHERE_FROM}`
  return undefined
}

/** With the bearer as the capability, where none is sent in its own header. */
export function withBearer(headers: Headers): Headers {
  // Other credentials of ours have their own place, and are told so.
  const bearer = /^Bearer (?!loci_)(\S+)$/.exec(String(headers.authorization ?? ''))?.[1]
  if (bearer === undefined || headers[HEADER.capability] !== undefined) return headers
  return { ...headers, [HEADER.capability]: bearer }
}
