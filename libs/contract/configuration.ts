// Configurations of databases, the same for cycles and working memory: any object is taken.

import { z } from 'zod'
import { anyObject } from './wire.ts'

export const configWarnings = z.array(z.object({ key: z.string(), problem: z.string(), using: z.unknown() }))

/** The answer to GET of a configuration: the configuration object itself, as it is in force, with its warnings. */
export const configInForce = z.looseObject({
  warnings: configWarnings.meta({ description: 'Stored values that are not in force, and what is used instead.' }),
})

/** What is in force, with what each known key may be: for who may not change it, and for who fills in a form. */
export const configSettings = z.object({
  config: anyObject.meta({ description: 'The configuration in force, with keys of your own.' }),
  version: z.int().meta({ description: 'Of what was put; 0 when nothing was.' }),
  warnings: configWarnings.meta({ description: 'Stored values that are not in force, and what is used instead.' }),
  settings: z.array(
    z.object({
      key: z.string().meta({ description: 'A dot for each object that it is in.' }),
      value: z.unknown().meta({ description: 'The value in force.' }),
      default: z.unknown(),
      range: z.string().meta({ description: 'What it may be, in words.' }),
      schema: anyObject.meta({ description: 'The same as JSON Schema.' }),
    }),
  ),
})

export const configUpdateResult = z
  .looseObject({ ok: z.literal(true), config: anyObject })
  .meta({ id: 'ConfigUpdateResult' })
