// Who listens on a port, as far as this process may see: on Linux, by /proc. Shown is the program and its script, never
// the rest of its command line, where there may be secrets of somebody else.

import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

export interface PortHolder {
  pid: number
  command: string
}

const LISTENING = '0A'

export function findPortHolder(port: number): PortHolder | undefined {
  try {
    const inodes = new Set(['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listeningInodes(file, port)))
    if (inodes.size === 0) return undefined
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
    const pid = pids.find((one) => socketsOf(one).some((inode) => inodes.has(inode)))
    return pid === undefined ? undefined : { pid: Number(pid), command: commandOf(pid) }
  } catch {
    return undefined // No /proc here.
  }
}

function listeningInodes(file: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(`:${hex}`) && state === LISTENING)
    .flatMap((fields) => fields[9] ?? [])
}

function socketsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1] ?? []
      } catch {
        return [] // Closed meanwhile.
      }
    })
  } catch {
    return [] // Of another user, or ended meanwhile.
  }
}

function commandOf(pid: string): string {
  try {
    const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    const script = args.find((argument) => /^[\w./-]+\.(c|m)?[jt]s$/.test(argument))
    return [basename(program), ...(script ? [script] : [])].join(' ')
  } catch {
    return 'of another user'
  }
}
