// Admin access: the client's address first, then the token (specification, Authentication 4). A capability never helps
// here.

import { createHash, timingSafeEqual } from 'node:crypto'
import { type AddressSet, clientAddress, hasForwardingHeader } from '@loci/chassis/addresses.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Access, Arrival } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'

export interface Administrator {
  /** For the audit: the start of the token's digest, and the client's address. */
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
  // Behind an undeclared proxy on this host every client would look like loopback. A forwarding header from an
  // untrusted peer means exactly that, so the request is refused whatever address it names.
  const untrustedForward = !trustedProxies.has(peer) && hasForwardingHeader(headers)
  const address = untrustedForward ? undefined : clientAddress(peer, headers, trustedProxies)
  if (address === undefined || !allowlist.has(address)) {
    throw new ApiError(
      'ADDRESS_NOT_ALLOWED',
      'Admin requests are not accepted from this address. LOCI_ADMIN_ALLOWLIST lists the accepted ones.',
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
  // Compares with every digest, so that the time reveals neither whether nor which one matches.
  const matches = tokenDigests.filter((known) => timingSafeEqual(known, digest))
  // Only tokens as `daemon admin-token` makes them: a digest of some guessable word must not work.
  if (typeof sent !== 'string' || !ADMIN_TOKEN.test(sent) || matches.length === 0) {
    throw new ApiError('UNAUTHENTICATED', `Admin routes need the admin token in the header ${HEADER.adminToken}.`)
  }
  return digest
}
