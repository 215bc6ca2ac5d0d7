// What a bill does, in sentences: by what management answers, dates and all.

import type { TenantStatus } from '@loci/sdk/management.ts'
import { counted, date, type Zone } from '../../format.ts'

interface About {
  tenant: string
  services: readonly string[]
  now: number
  zone: Zone
}

export interface Consequence {
  tone: 'warn' | 'bad'
  title: string
  text: string
}

type Billed = Pick<TenantStatus, 'status' | 'plan' | 'covered_plan' | 'services'> & {
  billing: Pick<
    TenantStatus['billing'],
    'status' | 'grace_ends_at' | 'suspended_since' | 'reads_end_at' | 'deletion_at' | 'current_period_end'
  >
}

export function consequenceOf(
  { status, plan, covered_plan, billing, services: { total } }: Billed,
  { tenant, services, now, zone }: About,
): Consequence | undefined {
  const on = (at: string | null) => (at === null ? 'a later day' : date(new Date(at), zone))
  const [only] = services
  const whose = services.length === 1 ? only : total > 0 ? counted(total, 'service') : 'its services'
  if (status === 'suspended') {
    const { suspended_since, reads_end_at, deletion_at } = billing
    const since = suspended_since === null ? '' : ` since ${on(suspended_since)}`
    const isOff = reads_end_at !== null && Date.parse(reads_end_at) <= now
    return {
      tone: isOff ? 'bad' : 'warn',
      title: `Tenant ${tenant} is unpaid${since}.`,
      text: isOff
        ? `Everything that ${whose} is asked is refused. The data is deleted on ${on(deletion_at)} unless it is paid.`
        : `Writes to ${whose} are refused. Reads, export and deletion go on until ${on(reads_end_at)}; the data is deleted on ${on(deletion_at)} unless it is paid.`,
    }
  }
  if (status === 'past_due')
    return {
      tone: 'warn',
      title: `A payment of tenant ${tenant} failed.`,
      text: `Nothing is refused yet. Unless it is paid by ${on(billing.grace_ends_at)}, writes to ${whose} are refused from then on.`,
    }
  if (billing.status === 'cancelled' && covered_plan !== 'free')
    return {
      tone: 'warn',
      title: `The subscription of tenant ${tenant} is cancelled.`,
      text: `The plan ${covered_plan} goes on until ${on(billing.current_period_end)}; then the plan is free, and services over it refuse writes.`,
    }
  if (plan !== covered_plan)
    return {
      tone: 'warn',
      title: `Tenant ${tenant} is billed for ${plan} and covered for ${covered_plan}.`,
      text: `The first payment of ${plan} has not arrived; until then the limits of ${covered_plan} count.`,
    }
  return undefined
}

/** What became of an event, for who wonders why the plan is as it is. */
export const EFFECTS: Readonly<Record<string, string>> = {
  applied: 'It decides its subscription.',
  superseded: 'One that is later in order decides, or its subscription is closed.',
  unordered: 'It does not count: others of its subscription have a sequence or a time, and it has none.',
  parked: 'It arrived before its tenant was known here.',
  dead: 'Its tenant was not known for 30 days.',
}

/** By what it is ordered among those of its subscription. */
export function orderOf({ sequence, occurred_at }: { sequence: number | null; occurred_at: string | null }): string {
  if (sequence !== null) return `seq ${sequence}`
  return occurred_at === null ? 'arrival' : 'its time'
}
