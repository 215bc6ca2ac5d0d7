// What a service should come to: the customer's last word within what is paid for, and what of it counts.

import { isOpen } from '@loci/management/provisioning/operations/operation.ts'
import type { Entitlement } from '@loci/management/provisioning/reconcile.ts'
import type { DesiredState, ServiceState } from '@loci/management/provisioning/service-state.ts'
import type { ServiceRow } from './control.ts'

/** What a tenant has paid for. Not of the control database: the provider says it again after a restore. */
export interface Tenant {
  access: 'full' | 'read_only' | 'none' | 'delete'
  plan: number
}

export function entitlementOf({ config }: ServiceRow, tenant: Tenant | undefined): Entitlement {
  const digestOf = (state: DesiredState, reason: string | null) => `${state} ${reason} ${config} ${tenant?.plan ?? 0}`
  const access = tenant?.access ?? 'full'
  if (access === 'full') return { state: 'active', reason: null, isOver: false, digestOf }
  const reason = access === 'read_only' ? 'unpaid' : 'unpaid_off'
  return { state: 'suspended', reason, isOver: access === 'delete', digestOf }
}

/** What the cell of a service should be told in the end: its last word within what is paid for. */
export function expectedOf(row: ServiceRow, tenant: Tenant | undefined): { state: DesiredState; body: string } {
  const entitlement = entitlementOf(row, tenant)
  if (entitlement.isOver || row.lastWord === 'deleted') return { state: 'deleted', body: '' }
  const state = row.lastWord === 'suspended' ? 'suspended' : entitlement.state
  const reason = state === 'suspended' ? (entitlement.reason ?? 'suspended') : null
  return { state, body: entitlement.digestOf(state, reason) }
}

export function usesQuota({ status }: ServiceState): boolean {
  return status !== 'failed' && status !== 'deleting' && status !== 'deleted'
}

export function isTransitional({ status }: ServiceState): boolean {
  return status === 'provisioning' || status === 'updating' || status === 'deleting'
}

export function hasOpenOperation({ operation }: ServiceState): boolean {
  return operation !== null && isOpen(operation)
}
