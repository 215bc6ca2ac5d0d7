// A scope is any JSON. Two are the same when they are equal as JSON, whatever the order of their members.

import { createHash } from 'node:crypto'
import { ApiError } from '@loci/chassis/api-error.ts'

const SCOPE_BYTES_MAX = 4 * 1024

/** What a state keeps of a scope: a hash. null: without one, which matches every other. */
export function scopeKeyOf(scope: unknown): string | null {
  if (scope === undefined || scope === null) return null
  return createHash('sha256').update(canonical(scope)).digest().subarray(0, 16).toString('base64url')
}

export function requireScopeSize(scope: unknown): void {
  if (scope !== undefined && Buffer.byteLength(JSON.stringify(scope)) > SCOPE_BYTES_MAX)
    throw new ApiError('PAYLOAD_TOO_LARGE', `A scope may have at most ${SCOPE_BYTES_MAX} bytes as JSON.`)
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, one]) => `${JSON.stringify(name)}:${canonical(one)}`).join(',')}}`
}
