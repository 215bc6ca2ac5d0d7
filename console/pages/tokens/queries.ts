// What makes, narrows and ends tokens, API keys and partner credentials. Nothing that is shown once is kept by a query.

import type { Delegation } from '@loci/sdk/attenuate.ts'
import type { ApiKeyMake, PartnerCredentialRequest, TokenChildRequest, TokenRequest } from '@loci/sdk/management.ts'
import { type Api, newIdempotencyKey } from '../../api/api.ts'
import { organizationKey, queries } from '../../api/cache.ts'

export async function makeToken({ management }: Api, tenantId: string, body: TokenRequest, idempotencyKey: string) {
  const call = { path: { id: tenantId }, body, idempotencyKey }
  return (await management.call('POST /api/v1/tenants/{id}/tokens', call)).body
}

/** Again with the same key it is one revocation; each call of the page is one wish. */
export async function revokeToken({ management }: Api, tenantId: string, tokenId: string) {
  const call = { path: { id: tenantId, token_id: tokenId }, idempotencyKey: newIdempotencyKey() }
  return (await management.call('DELETE /api/v1/tenants/{id}/tokens/{token_id}', call)).body
}

/** So that it is listed, and can be revoked by its id. */
export async function registerChild(
  { management }: Api,
  { tenantId, rootId }: { tenantId: string; rootId: string },
  child: TokenChildRequest,
) {
  const call = { path: { id: tenantId, token_id: rootId }, body: child, idempotencyKey: child.jti }
  return (await management.call('POST /api/v1/tenants/{id}/tokens/{token_id}/children', call)).body
}

export async function makeKey({ management }: Api, body: ApiKeyMake, idempotencyKey: string) {
  return (await management.call('POST /api/v1/api-keys', { body, idempotencyKey })).body
}

export async function rotateKey({ management }: Api, id: string, overlapSeconds: number, idempotencyKey: string) {
  const call = { path: { id }, body: { overlap_seconds: overlapSeconds }, idempotencyKey }
  return (await management.call('POST /api/v1/api-keys/{id}/rotate', call)).body
}

export async function deleteKey({ management }: Api, id: string, made: 'delete' | 'keep' = 'delete') {
  const call = { path: { id }, query: { made }, idempotencyKey: newIdempotencyKey() }
  return (await management.call('DELETE /api/v1/api-keys/{id}', call)).body
}

interface OfService {
  serviceId: string
  id: string
}

export async function makePartner(
  { management }: Api,
  serviceId: string,
  body: PartnerCredentialRequest,
  idempotencyKey: string,
) {
  const call = { path: { id: serviceId }, body, idempotencyKey }
  return (await management.call('POST /api/v1/services/{id}/partner-credentials', call)).body
}

export async function rotatePartner({ management }: Api, { serviceId, id }: OfService, idempotencyKey: string) {
  const call = { path: { id: serviceId, credential_id: id }, idempotencyKey }
  return (await management.call('POST /api/v1/services/{id}/partner-credentials/{credential_id}/rotate', call)).body
}

export async function deletePartner({ management }: Api, { serviceId, id }: OfService) {
  const call = { path: { id: serviceId, credential_id: id }, idempotencyKey: newIdempotencyKey() }
  return (await management.call('DELETE /api/v1/services/{id}/partner-credentials/{credential_id}', call)).body
}

export function credentialsChanged(api: Api): Promise<unknown> {
  const changed = ['tokens', 'api keys', 'partner credentials'] as const
  return Promise.all(changed.map((what) => queries.invalidateQueries({ queryKey: organizationKey(api, what) })))
}

/** What somebody pasted: the delegation itself, or the whole answer that made the token. */
export function readDelegation(text: string): Delegation | undefined {
  try {
    const read = JSON.parse(text) as { delegation?: unknown } | null
    const found = (read?.delegation ?? read) as Partial<Delegation> | null
    const { chain, key } = found ?? {}
    return typeof chain === 'string' && typeof key?.x === 'string' && typeof key.d === 'string'
      ? { chain, key: { kty: 'OKP', crv: 'Ed25519', x: key.x, d: key.d } }
      : undefined
  } catch {
    return undefined
  }
}
