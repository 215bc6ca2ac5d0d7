// What options and arguments mean: numbers, pairs, JSON, and a yes before something is destroyed.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { CommandFailure, usage } from '../failure.ts'
import type { Call } from '../tree/command.ts'

export function argument(call: Call, at: number): string {
  return call.arguments[at] as string
}

export function wholeNumber(call: Call, name: string, max = 1_000_000): number | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  if (!/^\d{1,9}$/.test(text) || Number(text) < 1 || Number(text) > max)
    throw usage(`--${name} is a whole number from 1 to ${max}.`)
  return Number(text)
}

/** Between 0 and 1. */
export function shareOf(call: Call, name: string): number | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  const value = Number(text)
  if (text.trim() === '' || Number.isNaN(value) || value < 0 || value > 1)
    throw usage(`--${name} is a number from 0 to 1.`)
  return value
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }

/** `90`, `15m`, `12h`, `30d`, in seconds. */
export function seconds(call: Call, name: string): number | undefined {
  const text = call.text(name)
  if (text === undefined) return undefined
  const [, count = '', unit = 's'] = /^(\d{1,8})([smhd])?$/.exec(text) ?? []
  if (count === '') throw usage(`--${name} is a time such as 90s, 15m, 12h or 30d.`)
  return Number(count) * (UNITS[unit] as number)
}

/** `k=v` pairs; a value that is JSON is taken as JSON. */
export function pairs(call: Call, name: string): Record<string, unknown> | undefined {
  const given = call.list(name)
  if (given.length === 0) return undefined
  return Object.fromEntries(
    given.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw usage(`--${name} is name=value, not '${pair}'.`)
      return [pair.slice(0, at), jsonOrText(pair.slice(at + 1))]
    }),
  )
}

export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The argument, a file, or what comes on standard input for `-`. */
export async function textOrInput(call: Call, text: string | undefined, file?: string): Promise<string> {
  if (file !== undefined && text !== undefined) throw usage('A text or --file, not both.')
  if (file !== undefined) {
    try {
      return readFileSync(resolve(call.host.cwd, file), 'utf8').trimEnd()
    } catch (error) {
      throw usage(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
    }
  }
  if (text === '-') return (await call.host.readInput()).trimEnd()
  if (text === undefined) throw usage('The text is missing: give it in quotes, or - to read it from standard input.')
  return text
}

/** Nothing is destroyed by a command that nobody confirmed. */
export async function requireYes(call: Call, what: string): Promise<void> {
  if (call.has('yes')) return
  if (!call.host.canAsk) throw usage(`${what}: say --yes, or --dry-run to see what it would do.`)
  const answer = await call.host.ask(`${what}. Type yes: `)
  if (answer.trim() !== 'yes') throw new CommandFailure('conflict', 'NOT_CONFIRMED', 'Nothing was done.')
}
