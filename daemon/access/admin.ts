// Admin access: the client's address first, then the token (seed, Authentication 4). A capability never helps here.

import { createHash, timingSafeEqual } from 'node:crypto'
import { type AddressSet, clientAddress, hasForwardingHeader } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'

export interface Administrator {
  /** Which of the configured tokens, by the start of its digest, and from where: what the audit names. */
  name: string
}

export interface AdminOptions {
  tokenDigests: Buffer[]
  allowlist: AddressSet
  trustedProxies: AddressSet
}

export function adminAccess(options: AdminOptions): Access<Administrator> {
  return {
    class: 'admin',
    schemes: [['adminToken']],
    lane: 'admin',
    challenge: `AdminToken realm="loci", header="${HEADER.adminToken}"`,
    errors: ['UNAUTHENTICATED', 'ADDRESS_NOT_ALLOWED'],
    authorize(arrival) {
      const address = requireAddress(arrival, options)
      const digest = requireToken(arrival, options.tokenDigests)
      return { name: `admin:${digest.toString('hex').slice(0, 8)}@${address}` }
    },
  }
}

function requireAddress({ peer, headers }: Arrival, { allowlist, trustedProxies }: AdminOptions): string {
  // A proxy on the same host would make the whole world loopback: a forwarding header from a peer that nobody declared
  // trusted means exactly that, so it is refused whatever address it names.
  const untrustedForward = !trustedProxies.has(peer) && hasForwardingHeader(headers)
  const address = untrustedForward ? undefined : clientAddress(peer, headers, trustedProxies)
  if (address === undefined || !allowlist.has(address)) {
    throw new ApiError(
      'ADDRESS_NOT_ALLOWED',
      'The administration does not answer this address. LOCI_ADMIN_ALLOWLIST names those it answers.',
    )
  }
  return address
}

const ADMIN_TOKEN = /^loci_adm_[A-Za-z0-9_-]{43}$/

function requireToken({ headers }: Arrival, tokenDigests: Buffer[]): Buffer {
  const sent = headers[HEADER.adminToken]
  const digest = createHash('sha256')
    .update(typeof sent === 'string' ? sent : '')
    .digest()
  // Every digest is compared, equal or not: the time tells neither whether nor which.
  const matches = tokenDigests.filter((known) => timingSafeEqual(known, digest))
  // Of the form that `daemon admin-token` makes: whoever configured the digest of a word has a token that opens nothing.
  if (typeof sent !== 'string' || !ADMIN_TOKEN.test(sent) || matches.length === 0) {
    throw new ApiError('UNAUTHENTICATED', `The administration needs its token in the header ${HEADER.adminToken}.`)
  }
  return digest
}
