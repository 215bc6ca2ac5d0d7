// Units of systemd for what was set up. Each program runs as a user that systemd makes for it and that can read nothing
// of the folder: systemd reads every secret and hands it over as a credential (`%d`, from version 250 on).

import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { NODE_FLAGS, type ProgramName, type Settings } from '../up/programs.ts'

const DESCRIPTIONS: Readonly<Record<ProgramName, string>> = {
  management: 'loci management (control plane)',
  daemon: 'loci daemon (data plane)',
}
/** Ports below are for who has the right to them. */
const PORT_MIN = 1_024

export interface UnitOf {
  program: ProgramName
  settings: Settings
  node: string
  /** The first file of the program. */
  file: string
}

export function unitName(program: ProgramName): string {
  return `loci-${program}.service`
}

export function unitText({ program, settings, node, file }: UnitOf): string {
  const secrets = Object.entries(settings).filter(([name]) => name.endsWith('_FILE'))
  const others = Object.entries(settings).filter(([name]) => !name.endsWith('_FILE'))
  const idOf = (name: string) => name.toLowerCase().replaceAll('_', '-')
  const isLow = Number(/:(\d+)$/.exec(settings.LOCI_LISTEN ?? '')?.[1]) < PORT_MIN
  const isAtHome = [node, file].some((path) => /^\/(?:home|root|run\/user)\//.test(path))
  return `# Written by loci setup, which writes it again: changes belong into systemctl edit ${unitName(program)}.
[Unit]
Description=${DESCRIPTIONS[program]}
After=network-online.target postgresql.service
Wants=network-online.target

[Service]
# Ready when it listens: it waits for its database as long as that takes, and says so in systemctl status.
Type=notify
NotifyAccess=all
# An event loop that stands still for so long does not come back.
WatchdogSec=60
ExecStart=${[node, ...NODE_FLAGS, file].map(word).join(' ')}
${others.map(([name, value]) => `Environment=${word(`${name}=${value}`)}`).join('\n')}
${secrets.map(([name, path]) => `LoadCredential=${idOf(name)}:${escaped(path)}`).join('\n')}
${secrets.map(([name]) => `Environment=${name}=%d/${idOf(name)}`).join('\n')}
Environment=MALLOC_ARENA_MAX=2 NODE_COMPILE_CACHE=%C/loci-${program}
CacheDirectory=loci-${program}
CacheDirectoryMode=0700
Restart=on-failure
RestartSec=1
# Wrong calls and wrong settings: another start would end the same.
RestartPreventExitStatus=64 78
TimeoutStopSec=30
LimitNOFILE=65536
DynamicUser=yes
UMask=0077
CapabilityBoundingSet=${isLow ? 'CAP_NET_BIND_SERVICE\nAmbientCapabilities=CAP_NET_BIND_SERVICE' : '\nPrivateUsers=yes'}
LockPersonality=yes
NoNewPrivileges=yes
PrivateDevices=yes
PrivateTmp=yes
ProtectClock=yes
ProtectControlGroups=yes
ProtectHome=${isAtHome ? 'read-only' : 'yes'}
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectProc=invisible
ProtectSystem=strict
RemoveIPC=yes
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
SystemCallArchitectures=native
SystemCallErrorNumber=EPERM
SystemCallFilter=@system-service
SystemCallFilter=~@privileged

[Install]
WantedBy=multi-user.target
`
}

/** What the user of a unit could not enter on the way to a program, or undefined. */
export function closedOnTheWay(path: string): string | undefined {
  for (let above = dirname(path); above !== dirname(above); above = dirname(above))
    if ((statSync(above).mode & 0o001) === 0) return above
  return undefined
}

function escaped(text: string): string {
  return text.replaceAll('%', '%%')
}

function word(text: string): string {
  const plain = escaped(text)
  return /[\s"'\\$]/.test(plain)
    ? `"${plain.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$$$')}"`
    : plain
}
