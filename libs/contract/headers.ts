// Names on the wire that several places share. Header names are lower case, as Node delivers them.

export const HEADER = {
  requestId: 'x-request-id',
  capability: 'x-loci-capability',
  organization: 'x-loci-organization',
  tenant: 'x-loci-tenant',
  service: 'x-loci-service',
  database: 'x-loci-database',
  adminToken: 'x-loci-admin-token',
  apiKey: 'x-api-key',
  idempotencyKey: 'idempotency-key',
} as const

/**
 * `__Host-` binds a cookie to one https origin; browsers refuse it on plain http, which is allowed on loopback only.
 * The prefix stands before the specification's names: `<prefix>_access_token`, `<prefix>_refresh_token`.
 */
export function cookieNames(publicUrl: string): { access: string; refresh: string } {
  const prefix = cookiePrefix(publicUrl)
  return { access: `${prefix}_access_token`, refresh: `${prefix}_refresh_token` }
}

/** Of a sign-in that is under way. */
export function signInCookie(publicUrl: string): string {
  return `${cookiePrefix(publicUrl)}_sign_in`
}

function cookiePrefix(publicUrl: string): string {
  return publicUrl.startsWith('https:') ? '__Host-loci' : 'loci'
}
