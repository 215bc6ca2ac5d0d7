// Whose an Idempotency-Key of an agent is: instance, database, route, holder of the credential.
// The claim is made inside the function that writes: a keyed request is the usual one, and a claim by statements of
// its own doubled its round trips.

import { type Claims, createClaims, tooManyAnswers } from '@loci/acts/idempotency/idempotency.ts'
import type { ApiError } from '@loci/chassis/api-error.ts'
import type { Instance } from '../access/authority.ts'
import type { Caller } from '../access/capability-access.ts'
import type { InstanceKeys } from '../databases/instance-keys.ts'

export function createInstanceClaims(keys: InstanceKeys): Claims<Caller> {
  return createClaims({
    keysOf: async ({ instance }) => [await keys.of(instance.id)],
    scopeOf,
  })
}

/** The claim itself counts: an instance keeps as many answers as its plan has records. */
export function tooManyKept({ limits: { records } }: Instance): ApiError {
  return tooManyAnswers('instance', records, 'as many as its plan has records')
}

export function scopeOf({ instance, database, holder }: Caller, route: string, key: string): string[] {
  return [instance.id, database, route, holder, key]
}
