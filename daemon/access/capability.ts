// Capability, operator and partner access (CONTRACT 1). The cell knows no credential of these kinds yet, so nobody is let in:
// a class that can not verify refuses, it does not wave through.

import { ApiError } from '@loci/chassis/api-error.ts'
import type { Access } from '@loci/chassis/route.ts'
import { HEADER } from '@loci/contract/headers.ts'

export type Operation =
  | 'system:read'
  | 'kv:read'
  | 'kv:write'
  | 'kv:delete'
  | 'cycles:run'
  | 'cycles:read'
  | 'wm:read'
  | 'wm:write'
  | 'wm:delete'
  | 'memory:read'
  | 'memory:write'
  | 'memory:delete'
  | 'advice:read'
  | 'events:read'

export function capabilityAccess(operation: Operation): Access<never> {
  return {
    class: 'capability',
    operation,
    schemes: [['capability']],
    errors: ['UNAUTHENTICATED', 'OPERATION_NOT_ALLOWED', 'IDENTITY_MISMATCH'],
    authorize() {
      throw new ApiError('UNAUTHENTICATED', `This route needs a capability in the header ${HEADER.capability}.`)
    },
  }
}
