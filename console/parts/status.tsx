// A state: icon, word and colour, so that none of the three alone has to be seen.

import { Icon, type IconName } from './icon.tsx'

export type Tone = 'ok' | 'warn' | 'bad' | 'idle' | 'acc'

const SERVICE: Readonly<Record<string, readonly [Tone, IconName, string]>> = {
  active: ['ok', 'check', 'Active'],
  provisioning: ['acc', 'running', 'Provisioning'],
  updating: ['acc', 'running', 'Updating'],
  suspended: ['warn', 'paused', 'Suspended'],
  failed: ['bad', 'cross', 'Failed'],
  deleting: ['idle', 'running', 'Deleting'],
  deleted: ['idle', 'cross', 'Deleted'],
}

export function Status({ tone, icon, children }: { tone: Tone; icon: IconName; children: string }) {
  return (
    <span className={`st ${tone}`}>
      <Icon name={icon} />
      {children}
    </span>
  )
}

export function ServiceStatus({ status }: { status: string }) {
  const [tone, icon, word] = SERVICE[status] ?? (['idle', 'info', status] as const)
  return (
    <Status tone={tone} icon={icon}>
      {word}
    </Status>
  )
}
