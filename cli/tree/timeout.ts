import { usage } from '../failure.ts'
import type { Call } from './command.ts'

/** Of --timeout, or so many seconds. */
export function timeoutMs(call: Call, fallbackS: number): number {
  const text = call.text('timeout')
  if (text === undefined) return fallbackS * 1_000
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0) throw usage('--timeout is a whole number of seconds.')
  return Number(text) * 1_000
}
