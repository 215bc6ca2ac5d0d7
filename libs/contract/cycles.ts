// Specification, "Cognitive resources". What the specification leaves open (other fields, the request) comes with the
// routes.

import { z } from 'zod'
import { anyObject } from './wire.ts'

export const cycleRecord = z.looseObject({ completedAt: z.string() }).meta({ id: 'CycleRecord' })

export const cycleList = z
  .looseObject({ cycles: z.array(cycleRecord), total: z.int(), corruption: z.unknown() })
  .meta({ id: 'CycleList', description: 'Newest first.' })

export const cycleStatistics = z
  .looseObject({
    totalCycles: z.int(),
    completedCycles: z.int(),
    failedCycles: z.literal(0),
    averageDurationMs: z.int(),
    lastCycleAt: z.string(),
    corruption: z.unknown(),
  })
  .meta({ id: 'CycleStatistics' })

/** Also the answer of working memory's configuration. */
export const configWarnings = z.array(z.object({ key: z.string(), problem: z.string(), using: z.unknown() }))

/** The answer to GET of a configuration: the configuration object itself, as it is in force, with its warnings. */
export const configInForce = z.looseObject({
  warnings: configWarnings.meta({ description: 'Stored values that are not in force, and what is used instead.' }),
})

export const configUpdateResult = z
  .looseObject({ ok: z.literal(true), config: anyObject })
  .meta({ id: 'ConfigUpdateResult' })

/** Integer division, and 0 when no cycle completed (specification, Cycle statistics). */
export function averageDurationMs(totalDurationMs: number, completedCycles: number): number {
  return completedCycles === 0 ? 0 : Math.floor(totalDurationMs / completedCycles)
}
