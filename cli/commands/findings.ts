// Checks that a person runs: each has one line of cause, and what to do where something is wrong.

import { EXIT } from '../failure.ts'
import type { Result } from '../tree/command.ts'
import { columns } from './shown.ts'

export interface Finding {
  status: 'ok' | 'warn' | 'fail'
  cause: string
  fix?: string
}

export type Check = readonly [name: string, look: () => Finding | Promise<Finding>]

export const ok = (cause: string): Finding => ({ status: 'ok', cause })
export const fail = (cause: string, fix: string): Finding => ({ status: 'fail', cause, fix })
export const warn = (cause: string, fix: string): Finding => ({ status: 'warn', cause, fix })

/** One after the other; `broken` says what it means that a check could not be made. */
export async function findings(checks: readonly Check[], broken: (error: Error) => Finding): Promise<Result> {
  const found: (Finding & { name: string })[] = []
  for (const [name, look] of checks) {
    const finding = await Promise.resolve().then(look).catch(broken)
    found.push({ name, ...finding })
  }
  const lines = columns(found.map(({ status, name, cause }) => [status, name, cause]))
  const shown = lines.flatMap((line, at) => {
    const fix = found[at]?.fix
    return fix ? [line, `      ${fix}`] : [line]
  })
  const failed = found.filter(({ status }) => status === 'fail').length
  return { data: { checks: found, failed }, lines: shown, exit: failed > 0 ? EXIT.unexpected : EXIT.ok }
}
