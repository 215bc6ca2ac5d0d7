// Whose an Idempotency-Key of an agent is: instance, database, route, holder of the credential.
// The claim is made inside the function that writes: a keyed request is the usual one, and a claim by statements of
// its own doubled its round trips.

import { type Claims, createClaims } from '@loci/acts/idempotency/idempotency.ts'
import type { Caller } from '../access/capability-access.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'

/** Per instance: who needs more keys a day than this has a loop. */
export const ANSWERS_MAX = 10_000

export function createInstanceClaims(keys: InstanceKeys): Claims<Caller> {
  return createClaims({
    keysOf: async ({ instance }) => [await keys.of(instance.id)],
    scopeOf,
  })
}

export function scopeOf({ instance, database, holder }: Caller, route: string, key: string): string[] {
  return [instance.id, database, route, holder, key]
}
