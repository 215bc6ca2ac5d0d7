// Configurations of databases, the same for cycles and working memory: any object is taken.

import { z } from 'zod'
import { anyObject } from './wire.ts'

export const configWarnings = z.array(z.object({ key: z.string(), problem: z.string(), using: z.unknown() }))

/** The answer to GET of a configuration: the configuration object itself, as it is in force, with its warnings. */
export const configInForce = z.looseObject({
  warnings: configWarnings.meta({ description: 'Stored values that are not in force, and what is used instead.' }),
})

export const configUpdateResult = z
  .looseObject({ ok: z.literal(true), config: anyObject })
  .meta({ id: 'ConfigUpdateResult' })
