// What a command is: where it stands in the tree, what it takes, what it does. Help, completions and
// the parser are made of the same table.

import type { Host } from '../host.ts'

export interface Option {
  name: string
  short?: string
  /** What stands for the value in help; an option without one is a switch. */
  value?: string
  many?: boolean
  choices?: readonly string[]
  summary: string
  /** Not shown: for this command line alone. */
  hidden?: boolean
}

export interface Argument {
  name: string
  optional?: boolean
  choices?: readonly string[]
  /** What a shell completes it with, asked of the server. */
  completes?: 'service' | 'profile'
}

export interface Call {
  host: Host
  arguments: readonly string[]
  text(name: string): string | undefined
  has(name: string): boolean
  list(name: string): readonly string[]
  isJson: boolean
  /** What goes on, for people: on standard error, and silent with --quiet. */
  say(line: string): void
  /** The id of the last request, for the envelope. */
  requestId: string | undefined
}

export interface Result {
  /** What --json shows. */
  data: unknown
  /** What people see, a line each. */
  lines?: readonly string[]
  exit?: number
}

export interface Command {
  /** As it is typed: `memory store`. */
  path: string
  summary: string
  arguments?: readonly Argument[]
  options?: readonly Option[]
  /** Not shown in help. */
  hidden?: boolean
  /** It writes to standard output by itself, for as long as it runs, so it has no --json. */
  streams?: boolean
  /** It ends by itself, and in its order, when the signal comes. */
  hearsSignal?: boolean
  run(call: Call): Promise<Result>
}

export const GLOBAL: readonly Option[] = [
  { name: 'json', summary: 'print exactly one JSON document, on success and on failure' },
  { name: 'profile', value: 'name', summary: 'use this profile (LOCI_PROFILE)' },
  { name: 'url', value: 'url', summary: 'address of management (LOCI_URL)' },
  { name: 'service', value: 'service', summary: 'id or slug of the service (LOCI_SERVICE)' },
  { name: 'timeout', value: 'seconds', summary: 'give up after so long' },
  { name: 'quiet', summary: 'nothing but the result' },
  { name: 'verbose', summary: 'tell of each request: method, path, status, time, id' },
  { name: 'help', short: 'h', summary: 'say how the command is used' },
]

/** Of every command that works on the memory of one person or agent. */
export const USER: Option = { name: 'user', value: 'name', summary: 'whose memory: a database of the service' }
