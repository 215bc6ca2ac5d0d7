// How a bill becomes a refusal: billing status -> tenant -> its services -> instance -> error code. Both programs
// decide by these tables, and docs/states.md is generated from them.

import type { z } from 'zod'
import type { plan } from './billing.ts'
import type { ErrorCode } from './errors.ts'

/** What the services of a tenant may do, and the state that is published to their cells. `delete`: delete them. */
export const TENANT_ACCESS = {
  full: { state: 'active', reason: null },
  read_only: { state: 'suspended', reason: 'unpaid' },
  none: { state: 'suspended', reason: 'unpaid_off' },
  delete: { state: 'deleted', reason: null },
} as const satisfies Record<string, { state: InstanceState; reason: StateReason | null }>

export type TenantAccess = keyof typeof TENANT_ACCESS

interface TenantStateKind {
  /** What the billing provider said, and when that leads here. */
  billing: string
  status: 'active' | 'past_due' | 'suspended'
  /** `unpaid` also after the grace. */
  reason: 'past_due' | 'unpaid' | null
  access: TenantAccess
  /** Day of the suspension from which it holds. */
  fromDay: number
}

const OWING = '`unpaid`, or `past_due` after its grace'

export const TENANT_STATES = {
  covered: {
    billing: 'no subscription (plan free); `active`; `cancelled` (until its period ends, then plan free)',
    status: 'active',
    reason: null,
    access: 'full',
    fromDay: 0,
  },
  in_grace: { billing: '`past_due`, in its grace', status: 'past_due', reason: 'past_due', access: 'full', fromDay: 0 },
  unpaid: { billing: OWING, status: 'suspended', reason: 'unpaid', access: 'read_only', fromDay: 0 },
  off: { billing: OWING, status: 'suspended', reason: 'unpaid', access: 'none', fromDay: 30 },
  ended: { billing: OWING, status: 'suspended', reason: 'unpaid', access: 'delete', fromDay: 60 },
} as const satisfies Record<string, TenantStateKind>

/** Of a subscription that was active before its payment failed. */
export const GRACE_DAYS: Readonly<Record<z.infer<typeof plan>, number>> = {
  free: 7,
  starter: 7,
  pro: 14,
  enterprise: 30,
}

export const INSTANCE_STATES = ['active', 'suspended', 'deleted'] as const
export type InstanceState = (typeof INSTANCE_STATES)[number]

/** What every request to a deleted instance is answered, and to one that the cell never had. */
export const GONE: ErrorCode = 'UNAUTHENTICATED'

interface StateReasonKind {
  meaning: string
  /** `read_only`: by effect (operations.ts). `none`: every request is refused. */
  access: 'read_only' | 'none'
  code: ErrorCode
}

/** Why an instance is suspended, and what it then refuses with which code. */
export const STATE_REASONS = {
  suspended: { meaning: 'its owner suspended it', access: 'read_only', code: 'FORBIDDEN' },
  unpaid: { meaning: 'the tenant is suspended for payment', access: 'read_only', code: 'PAYMENT_REQUIRED' },
  unpaid_off: {
    meaning: 'the tenant has been suspended for payment for 30 days',
    access: 'none',
    code: 'PAYMENT_REQUIRED',
  },
  plan_not_covered: {
    meaning: 'the tenant has more services than its plan covers; the oldest stay',
    access: 'read_only',
    code: 'PLAN_NOT_COVERED',
  },
} as const satisfies Record<string, StateReasonKind>

export type StateReason = keyof typeof STATE_REASONS
export const STATE_REASON_NAMES = Object.keys(STATE_REASONS) as StateReason[]

/**
 * The reason as this release understands it. One that a newer management has added, or none, counts as the owner's own:
 * the state says that writes stop, and nothing says that reads must
 * (docs/decisions/2026-11-15-unknown-state-reasons.md).
 */
export function knownReason(reason: string | null): StateReason {
  return STATE_REASON_NAMES.find((known) => known === reason) ?? 'suspended'
}
