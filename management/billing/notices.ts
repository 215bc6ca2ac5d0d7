// Nobody loses access or data without having been told 7 days before. The tenant's state says when a
// step would be due; here it waits until its notice has been out for that long, because an event can come late and tell
// of a time long past.
//
// What was sent is remembered as `<type>@<when the step is taken>`. A notice counts for every step that is due at that
// time or before, so a clock that is set back announces nothing twice; a suspension that ends forgets its notices.

import type { TenantAccess } from '@loci/contract/states.ts'
import type { TenantState } from './tenant-state.ts'

export interface Announced {
  access: TenantAccess
  /** To be sent now. */
  send: { type: NoticeType; takesEffectAt: Date }[]
  /** To be remembered. */
  sent: string[]
  nextChangeAt: Date | null
}

type NoticeType = TenantState['notices'][number]['type']

const NOTICE_MS = 7 * 86_400_000

export function announce(state: TenantState, sent: readonly string[], now: Date): Announced {
  const steps = state.notices.map(({ type, at, takesEffectAt }) => {
    const told = timesOf(sent, type).find((time) => time >= takesEffectAt.getTime())
    if (told !== undefined) return { type, isNew: false, isTold: true, at: told }
    const planned = takesEffectAt.getTime()
    if (now < at) return { type, isNew: false, isTold: false, at: planned }
    return { type, isNew: true, isTold: true, at: Math.max(planned, now.getTime() + NOTICE_MS) }
  })
  const isDue = (type: NoticeType) => steps.some((step) => step.type === type && step.at <= now.getTime())
  const later = [state.nextChangeAt?.getTime() ?? Number.POSITIVE_INFINITY, ...steps.map(({ at }) => at)]
  const next = Math.min(...later.filter((at) => at > now.getTime()))
  return {
    access: announcedAccess(state.access, isDue),
    send: steps.filter(({ isNew }) => isNew).map(({ type, at }) => ({ type, takesEffectAt: new Date(at) })),
    sent: steps.filter(({ isTold }) => isTold).map(({ type, at }) => `${type}@${new Date(at).toISOString()}`),
    nextChangeAt: Number.isFinite(next) ? new Date(next) : null,
  }
}

/** When a step is taken: as it was announced, else as planned. Undefined: nothing leads there. */
export function takenAt(
  state: Pick<TenantState, 'notices'>,
  sent: readonly string[],
  type: NoticeType,
): Date | undefined {
  const planned = state.notices.find((notice) => notice.type === type)?.takesEffectAt
  if (!planned) return undefined
  const told = timesOf(sent, type).find((time) => time >= planned.getTime())
  return told === undefined ? planned : new Date(told)
}

function announcedAccess(access: TenantAccess, isDue: (type: NoticeType) => boolean): TenantAccess {
  if (access === 'delete' && isDue('tenant.deletion_due')) return 'delete'
  if (access === 'full' || access === 'read_only') return access
  return isDue('tenant.access_ends') ? 'none' : 'read_only'
}

function timesOf(sent: readonly string[], type: NoticeType): number[] {
  return sent
    .filter((one) => one.startsWith(`${type}@`))
    .map((one) => Date.parse(one.slice(type.length + 1)))
    .sort((one, other) => one - other)
}
