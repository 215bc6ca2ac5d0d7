// The console's way to a daemon, through management.

import { z } from 'zod'
import { pathId } from './wire.ts'

export const proxyParams = z.object({
  id: pathId,
  path: z.string().max(4_000).regex(/[^/]$/, 'must not end in a slash'),
})
/** As the daemon takes it. */
export const proxyQuery = z.record(z.string(), z.string())
export const proxyBody = z.unknown().meta({ description: 'JSON, as the daemon takes it.' })

/**
 * `sub` of the capability with which management follows the events of a service for all pages of the console. No other
 * root has it: those of callers name a user or an API key. The plan's limit of streams does not count it.
 */
export const CONSOLE_HOLDER = 'console'
