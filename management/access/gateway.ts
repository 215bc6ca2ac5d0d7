// A trusted gateway may name the caller (seed, Authentication 8). It counts only when the socket's peer is one of the
// configured addresses AND the proof verifies; else the x-consumer-* headers are ignored.

import { createHmac, timingSafeEqual } from 'node:crypto'
import type { AddressSet } from '@loci/chassis/addresses.ts'
import type { Arrival } from '@loci/chassis/route.ts'
import { isId } from '@loci/contract/ids.ts'
import { ROLES, type Role } from '@loci/contract/roles.ts'

export interface Consumer {
  id: string
  organizationId: string
  role: Role
}

const TOLERANCE_S = 60

export function consumerOf(
  { method, target, headers, peer }: Arrival,
  { gateways, secrets, nowMs }: { gateways: AddressSet; secrets: string[]; nowMs: number },
): Consumer | undefined {
  if (headers['x-consumer-proof'] === undefined || !gateways.has(peer)) return undefined
  const [id, organizationId, roles, timestamp, proof] = ['id', 'organization', 'roles', 'timestamp', 'proof'].map(
    (name) => headers[`x-consumer-${name}`],
  )
  if (typeof id !== 'string' || !/^[\x21-\x7e]{1,200}$/.test(id)) return undefined
  if (typeof organizationId !== 'string' || !isId('org', organizationId) || typeof roles !== 'string') return undefined
  if (typeof timestamp !== 'string' || !/^[0-9]{1,12}$/.test(timestamp) || typeof proof !== 'string') return undefined
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > TOLERANCE_S) return undefined
  const signed = [method, target, timestamp, id, organizationId, roles].join('\n')
  if (!secrets.some((secret) => isProof(proof, secret, signed))) return undefined
  const named = roles.split(',').map((role) => role.trim())
  const role = ROLES.find((one) => named.includes(one))
  // Never staff: a gateway names a role in an organization and nothing more.
  return role && { id, organizationId, role }
}

function isProof(proof: string, secret: string, signed: string): boolean {
  const expected = createHmac('sha256', secret).update(signed).digest()
  const given = Buffer.from(/^[0-9a-f]{64}$/i.test(proof) ? proof : '', 'hex')
  return given.length === expected.length && timingSafeEqual(given, expected)
}
