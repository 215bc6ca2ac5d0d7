// Between the planes: what a cell reports to management.

import { z } from 'zod'
import { LATENCY_BOUNDS_MS } from './usage.ts'
import { idOf, timestamp } from './wire.ts'

const ROWS_MAX = 2_000
const rows = <Row extends z.ZodType>(row: Row) => z.array(row).max(ROWS_MAX).default([])

const count = z.int().min(0)
/** Units of the plan's rate. */
const charged = z.number().min(0).max(1e12)
const generation = count.max(Number.MAX_SAFE_INTEGER)

/** What a row of the deletion ledger says of memory records, and (the number alone) of a whole database. */
export const ledgerValue = {
  value_mac: z
    .string()
    .regex(/^[0-9a-f]{32}$/)
    .optional()
    .meta({ description: 'HMAC of the value of the erased records, in hex.' }),
  database_seq: generation.optional().meta({
    description:
      "The database's number at the erasure: what says the same and has a higher one was stored again afterwards; of a whole database, the last number of the life that ended.",
  }),
  override: z.boolean().optional().meta({
    description: 'True: a record with this value was stored with `override`, which takes the tombstone back.',
  }),
}

/** Made by an administrator of the cell: one token in any instance, or every token issued up to a moment. */
const cellRevocation = z
  .object({
    kind: z.enum(['jti', 'org', 'ten', 'svc']),
    value: z.string().min(1).max(200),
    not_before: timestamp.nullable(),
    expires_at: timestamp,
    audit_id: z.string().max(100).nullable(),
  })
  .refine(({ kind, not_before }) => (kind === 'jti') === (not_before === null), {
    message: 'a jti has no not_before, every other kind has one',
    path: ['not_before'],
  })

/** What became of a command: another change was later, a rule forbade it, or its time was over before it came. */
export const SWITCH_OUTCOMES = ['applied', 'overtaken', 'refused', 'expired'] as const
export type SwitchOutcome = (typeof SWITCH_OUTCOMES)[number]

const reportedSwitch = z.object({
  name: z.string().min(1).max(100),
  enabled: z.boolean(),
  since: timestamp,
  changed_by: z.string().max(500).nullable(),
  reason: z.string().max(500).nullable(),
  auto_revert_at: timestamp.nullable(),
  told_at: timestamp.nullable(),
  outcome: z.enum(SWITCH_OUTCOMES).nullable(),
})
export type ReportedSwitch = z.infer<typeof reportedSwitch>

export const reportRequest = z
  .object({
    report_id: z.uuid(),
    // `deleted`: nothing of the instance is left in the cell. Until then that generation is not reported.
    observed: rows(
      z.object({
        svc: idOf('svc'),
        generation,
        state: z.enum(['active', 'suspended', 'deleted', 'failed']),
      }),
    ),
    // Instances that management said it does not know, described by the cell: management's database was restored.
    unknown: rows(
      z.object({
        svc: idOf('svc'),
        org: idOf('org'),
        ten: idOf('ten'),
        service_type: z.string().max(100),
        plan: z.enum(['free', 'starter', 'pro', 'enterprise']),
        generation,
        state: z.enum(['active', 'suspended', 'deleted', 'failed']),
      }),
    ),
    usage: rows(
      z.object({
        svc: idOf('svc'),
        minute: timestamp.refine((at) => at.endsWith(':00.000Z'), 'must be the start of a minute'),
        dedup: z.string().min(1).max(200),
        requests: count,
        writes: count,
        records: count,
        bytes: count,
        // Absent from cells of the release before it.
        units: charged.optional(),
        routes: z
          .array(z.object({ route: z.string().regex(/^[\x20-\x7e]{1,160}$/), units: charged }))
          .max(20)
          .optional(),
        errors: count.optional(),
        cycles: count.optional(),
        evictions: count.optional(),
        latency: z.array(count).max(LATENCY_BOUNDS_MS.length).optional(),
      }),
    ),
    revocations: rows(cellRevocation),
    // The deletion ledger. `generation`: of a whole instance, the one that was erased.
    deletions: rows(
      z.object({
        svc: idOf('svc'),
        database: z.string().max(64).optional(),
        generation: generation.optional(),
        ...ledgerValue,
        at: timestamp,
      }),
    ),
    // All switches of the cell, whenever one differs from what was reported last. `told_at`: of the last command.
    switches: z.array(reportedSwitch).max(50).optional(),
    last_used: rows(z.object({ credential: z.union([idOf('ptr'), idOf('cap')]), at: timestamp })),
  })
  .meta({ id: 'ReportRequest' })

export type Report = z.infer<typeof reportRequest>

export const reportResponse = z
  .object({
    accepted: z.literal(true),
    refused: z.array(idOf('svc')).meta({
      description:
        'Instances that are not placed in this cell: their rows were ignored. Describe them under `unknown`.',
    }),
    ledger: z
      .int()
      .optional()
      .meta({ description: 'After `deletions`: the last number of the ledger, with this report.' }),
  })
  .meta({ id: 'ReportResponse' })
