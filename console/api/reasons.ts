// Why a service is not as it was wanted (docs/operations/cells.md), as its owner is told.

export interface Reason {
  text: string
  tone: 'warn' | 'bad'
  /** What the owner can do here. */
  action?: 'retry' | 'resume' | 'billing' | undefined
}

const REASONS: Readonly<Record<string, Reason>> = {
  'provisioning no_capacity': { text: 'No cell of the region has room. It is tried again by itself.', tone: 'warn' },
  'failed no_capacity': { text: 'No cell of the region had room for it.', tone: 'bad', action: 'retry' },
  'failed cell_silent': { text: 'Its cell did not confirm it in time.', tone: 'bad', action: 'retry' },
  'failed cell_failed': { text: 'Its cell could not create it.', tone: 'bad', action: 'retry' },
  'failed recovered': {
    text: 'It was found after a restore and serves. Try again accepts it; deleting erases it.',
    tone: 'warn',
    action: 'retry',
  },
  'failed lost_in_restore': {
    text: 'Its cell reports an erasure that nobody asked for. Ask the operators before you decide.',
    tone: 'bad',
    action: 'retry',
  },
  'failed deletion_unconfirmed': { text: 'The deletion is not confirmed yet. It ends by itself.', tone: 'warn' },
  'active unconfirmed': { text: 'Its cell did not confirm the last change yet.', tone: 'warn' },
  'suspended unconfirmed': { text: 'Its cell did not confirm the last change yet.', tone: 'warn' },
  'suspended suspended': {
    text: 'Its owner suspended it: writes are refused, reads go on.',
    tone: 'warn',
    action: 'resume',
  },
  'suspended unpaid': {
    text: 'Its tenant is unpaid: writes are refused, reads go on.',
    tone: 'warn',
    action: 'billing',
  },
  'suspended unpaid_off': { text: 'Unpaid for 30 days: everything is refused.', tone: 'bad', action: 'billing' },
  'suspended plan_not_covered': {
    text: 'The plan covers fewer services: writes are refused, reads go on.',
    tone: 'warn',
    action: 'billing',
  },
}

/** Undefined where all is as it was wanted. */
export function reasonOf(status: string, reason: string | null): Reason | undefined {
  const known = REASONS[`${status} ${reason}`]
  if (known || reason === null) return known
  // A newer management may have another reason: it is said as it is.
  return { text: reason.replaceAll('_', ' '), tone: 'warn', action: status === 'failed' ? 'retry' : undefined }
}

/** What somebody should see first. */
export function needsALook(status: string): boolean {
  return status === 'failed' || status === 'suspended'
}
