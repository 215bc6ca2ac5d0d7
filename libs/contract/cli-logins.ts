// A command line signs in: it begins, a person approves in the browser, it polls.

import { z } from 'zod'
import { idPath } from './wire.ts'

export const cliLoginParams = idPath

export const cliLoginBegin = z.strictObject({}).meta({ id: 'CliLoginBegin' })

export const cliLoginBegun = z
  .object({
    id: z.string(),
    user_code: z.string().meta({ description: 'What the person compares before they approve.' }),
    device_code: z.string().meta({ description: 'What the command line polls with; shown to nobody else.' }),
    verification_url: z.string(),
    interval: z.int().meta({ description: 'Seconds between two polls.' }),
    expires_in: z.int(),
  })
  .meta({ id: 'CliLoginBegun' })

/** The answer that began it may be sent back whole. */
export const cliLoginPoll = z.object({ device_code: z.string().max(200) }).meta({ id: 'CliLoginPoll' })
export const cliLoginPending = z.object({ status: z.literal('pending') }).meta({ id: 'CliLoginPending' })
export const cliLoginKey = z
  .object({ api_key: z.string(), organization_id: z.string(), expires_at: z.string() })
  .meta({ id: 'CliLoginKey', description: 'Told once.' })

export const cliLoginDecision = z
  .strictObject({ user_code: z.string().max(20) })
  .meta({ id: 'CliLoginDecision', description: 'The code that the command line shows.' })
export const cliLoginDecided = z
  .object({ id: z.string(), status: z.enum(['approved', 'denied']) })
  .meta({ id: 'CliLoginDecided' })
