// Cells: what staff reads and changes about cells, and what a cell reads about itself.

import { z } from 'zod'
import { SWITCH_MS_MAX } from './admin.ts'
import { SWITCH_OUTCOMES } from './reports.ts'
import { regionName } from './services.ts'
import { idOf, pageQuery, pathId, timestamp } from './wire.ts'

export const cellParams = z.object({ id: pathId })

export const cellRequest = z
  .strictObject({
    name: z.string().min(1).max(100),
    region: regionName,
    capacity: z.int().meta({ description: 'How many instances it may hold.' }),
    endpoint: z.string().max(500).meta({ description: 'The URL under which clients reach its daemons.' }),
    public_key: z.string().max(100).meta({ description: 'Ed25519, 43 characters of base64url: `x` of its JWK.' }),
    tenant_id: z
      .string()
      .max(100)
      .optional()
      .meta({ description: 'Set when the whole cell is reserved for one tenant.' }),
  })
  .meta({ id: 'CellRequest' })

export const cellChange = z
  .strictObject({
    capacity: z.int().optional(),
    endpoint: z.string().max(500).optional(),
    public_keys: z
      .array(z.string().max(100))
      .min(1)
      .max(2)
      .optional()
      .meta({ description: 'The complete list from now on: two while a cell changes its key.' }),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    message: 'name at least one of capacity, endpoint and public_keys',
  })
  .meta({ id: 'CellChange' })

/**
 * `two_addresses`: two addresses act as the cell in turns. `generation`: a report is far ahead of what was published.
 * `unknown`: an instance that management does not know and no restore explains. `foreign`: an instance of another cell.
 * `erased`: one that was not deleted here. `revocations`: more of them in a minute than an administrator makes, or one
 * that was refused. `deletions`: erasures of the future, with an impossible number, or 100,000 in a minute.
 */
export const CELL_ALARMS = [
  'two_addresses',
  'generation',
  'unknown',
  'foreign',
  'erased',
  'revocations',
  'deletions',
] as const
export type CellAlarm = (typeof CELL_ALARMS)[number]

export const cellResponse = z
  .object({
    id: idOf('cell'),
    name: z.string(),
    region: z.string(),
    capacity: z.int(),
    placed: z.int().meta({ description: 'How many instances it holds or will soon hold.' }),
    endpoint: z.string(),
    public_keys: z.array(z.string()),
    tenant_id: idOf('ten').nullable(),
    created_at: timestamp,
    heard_at: timestamp.nullable().meta({ description: 'When it last polled its feed; null = never.' }),
    heard_seq: z.int().meta({ description: 'The last change of its feed that it has applied.' }),
    feed_seq: z.int().meta({ description: 'The newest change of its feed.' }),
    lag: z.int().meta({ description: 'How many changes it has not applied yet.' }),
    alarm: z
      .object({ kind: z.enum(CELL_ALARMS), at: timestamp, detail: z.string() })
      .nullable()
      .meta({
        description:
          'The last suspicious request made with a key of this cell. Cleared when the keys of the cell are changed.',
      }),
  })
  .meta({ id: 'Cell' })

export const cellListQuery = pageQuery('cell')

export const cellList = z
  .object({ cells: z.array(cellResponse), next_cursor: z.string().nullable() })
  .meta({ id: 'CellList' })

export const cellSelf = z
  .object({
    id: idOf('cell'),
    name: z.string(),
    region: z.string(),
    epoch: z.string().meta({ description: 'Epoch of the feed. When it changes, the cell reads the whole feed again.' }),
    instances: z.int().meta({ description: 'How many are placed in the cell.' }),
  })
  .meta({ id: 'CellSelf' })

/** Why management refuses a cell, in `details.reason` of the 401. */
export const CELL_REFUSALS = ['token', 'audience', 'clock', 'unknown_cell', 'unknown_key'] as const
export type CellRefusal = (typeof CELL_REFUSALS)[number]

export const cellSwitches = z
  .object({
    cell_id: idOf('cell'),
    reported_at: timestamp.nullable().meta({ description: 'Null: the cell has not reported its switches yet.' }),
    subservices: z.array(
      z.object({
        name: z.string(),
        enabled: z.boolean(),
        required: z.boolean(),
        depends_on: z.array(z.string()),
        since: timestamp,
        changed_by: z.string().nullable(),
        reason: z.string().nullable(),
        auto_revert_at: timestamp.nullable(),
        wanted: z
          .object({
            enabled: z.boolean(),
            at: timestamp,
            by: z.string(),
            reason: z.string(),
            auto_revert_at: timestamp.nullable(),
            state: z.enum(['pending', ...SWITCH_OUTCOMES]).meta({
              description:
                '`pending`: the cell has not said yet. `applied`: it was carried out. `overtaken`: the cell was switched later than this was asked. `refused`: another sub-service stood against it by then. `expired`: its time was over before the cell read it.',
            }),
          })
          .nullable()
          .meta({ description: 'What was asked for last through this API.' }),
      }),
    ),
  })
  .meta({ id: 'CellSwitches' })

export const cellSwitchRequest = z
  .strictObject({
    service: z.string().min(1).max(100),
    enabled: z.boolean(),
    reason: z.string().min(1).max(500),
    auto_revert_ms: z.int().min(1).max(SWITCH_MS_MAX).optional().meta({
      description: 'After that the cell takes it back by itself, also when it was restarted meanwhile.',
    }),
    dry_run: z.boolean().optional(),
  })
  .meta({ id: 'CellSwitchRequest' })

export const cellSwitchAnswer = z
  .object({
    service: z.string(),
    previous: z.boolean().meta({ description: 'With what was asked for before and not carried out yet.' }),
    current: z.boolean(),
    changed: z.boolean(),
    dry_run: z.boolean(),
    instances: z.int().meta({ description: 'Services of the cell: all that this reaches.' }),
  })
  .meta({ id: 'CellSwitchAnswer' })
