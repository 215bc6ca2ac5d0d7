// Between the planes: what a cell pulls from management. The feed holds the current item of each instance,
// key, revocation and partner credential of the cell.

import { z } from 'zod'
import { ledgerValue } from './reports.ts'
import { INSTANCE_STATES, STATE_REASON_NAMES, STATE_REASONS } from './states.ts'
import { idOf, queryInteger, timestamp } from './wire.ts'

const instanceLimits = z.object({
  databases: z.int(),
  records: z.int(),
  bytes: z.int(),
  bytes_written_per_day: z.int().optional().meta({ description: 'Of a day of UTC. Absent: no bound.' }),
  history_days: z
    .int()
    .optional()
    .meta({ description: 'How long former slots, evictions and decisions are kept. Absent: 30.' }),
  requests_per_second: z.int(),
  burst: z.int(),
  streams: z.int(),
  // Absent = without a bound.
  organization_rate: z.int().optional(),
})
export type InstanceLimits = z.infer<typeof instanceLimits>

const instanceBody = z.object({
  org: idOf('org'),
  ten: idOf('ten'),
  svc: idOf('svc'),
  service_type: z.string(),
  plan: z.string(),
  state: z.enum(INSTANCE_STATES),
  // Any text is read: a cell of this release must take the page of a newer management that knows more reasons.
  state_reason: z
    .string()
    .nullable()
    .meta({
      description: `Why it is suspended. ${STATE_REASON_NAMES.map((name) => `\`${name}\`: ${STATE_REASONS[name].meaning}`).join('; ')}. A cell takes one that it does not know for \`suspended\`.`,
    }),
  generation: z.int().meta({
    description: 'Rises with each change. A cell ignores a lower one than it has, and reports the one it has applied.',
  }),
  limits: instanceLimits,
  config: z.record(z.string(), z.unknown()),
})

/** active: signs or will soon; retiring: verifies until retire_at; removed: verifies nothing. */
const keyBody = z.object({
  kid: z.string(),
  x: z.string(),
  state: z.enum(['active', 'retiring', 'removed']),
  retire_at: timestamp.nullable(),
})

/**
 * One token; or a cutoff: every token of an organization, tenant or service whose root was issued at or before
 * `not_before`. The cutoff `sub` has the id `<organization>/<sub of the root>`: every token that one API key or person
 * asked for.
 */
const withdrawn = z.literal(true).optional().meta({
  description:
    'Staff have withdrawn what the cell revoked: it takes its own back. A `not_before` of management that still counts stays beside it, else it is 1970.',
})
const revocationBody = z.union([
  z.object({
    svc: z.union([idOf('svc'), z.literal('*')]),
    jti: z.string(),
    expires_at: timestamp,
    revoked_at: timestamp.optional().meta({
      description:
        'When management revoked it. A cell drops it once an epoch of the service has a `not_before` at least a minute later.',
    }),
    withdrawn,
  }),
  z.object({
    kind: z.enum(['org', 'ten', 'svc', 'sub']),
    id: z.string(),
    not_before: timestamp,
    expires_at: timestamp,
    withdrawn,
  }),
])

const partnerCredentialBody = z.object({
  id: idOf('ptr'),
  partner: z.string(),
  svc: idOf('svc'),
  org: idOf('org'),
  ten: idOf('ten'),
  database: z.string(),
  projection_classes: z.array(z.string()),
  routes: z.array(z.string()),
  digest: z.string().meta({ description: 'Hex SHA-256 of the whole token text.' }),
  state: z.enum(['active', 'revoked']),
  expires_at: timestamp.nullable(),
})

const seq = z.int()

const feedItem = z.discriminatedUnion('kind', [
  z.object({ seq, kind: z.literal('instance'), key: z.string(), body: instanceBody }),
  z.object({ seq, kind: z.literal('key'), key: z.string(), body: keyBody }),
  z.object({ seq, kind: z.literal('revocation'), key: z.string(), body: revocationBody }),
  z.object({ seq, kind: z.literal('partner_credential'), key: z.string(), body: partnerCredentialBody }),
])

export type FeedItem = z.infer<typeof feedItem>
/** An item before it has a seq. */
export type FeedChange = FeedItem extends infer Item ? (Item extends FeedItem ? Omit<Item, 'seq'> : never) : never

/** Up to 15 digits, more than other query integers: a feed counts every change that a cell ever had. */
const after = z
  .string()
  .regex(/^[0-9]{1,15}$/)
  .transform(Number)
  .default(0)
  .meta({ queryInteger: { type: 'integer', minimum: 0, default: 0 } })

export const feedQuery = z.object({
  after,
  urgent: z
    .string()
    .regex(/^[0-9]{1,15}$/)
    .transform(Number)
    .optional()
    .meta({
      queryInteger: { type: 'integer', minimum: 0 },
      description:
        'How far keys and revocations have been read. With it they come first in every page; without it all items come in one order.',
    }),
  epoch: z.string().max(200).optional(),
  wait: queryInteger({ min: 0, max: 20, fallback: 0 }),
})

const switchCommand = z.object({
  service: z.string(),
  enabled: z.boolean(),
  at: timestamp.meta({ description: 'When it was asked for. A cell carries out each moment once.' }),
  by: z.string(),
  reason: z.string(),
  auto_revert_at: timestamp.nullable(),
})
export type SwitchCommand = z.infer<typeof switchCommand>

export const feedResponse = z
  .object({
    epoch: z.string(),
    full: z
      .boolean()
      .meta({ description: 'The items start from the beginning, because `epoch` or `after` did not fit.' }),
    next: z.int().meta({ description: 'What to send as `after`.' }),
    urgent: z.int().optional().meta({ description: 'What to send as `urgent`.' }),
    more: z.boolean().meta({ description: 'There is another page: ask again at once.' }),
    ledger: z.int().optional().meta({
      description:
        'The last number of the deletion ledger. A cell that never sent so many rows was put back to an earlier moment: it replays the ledger before it serves.',
    }),
    // Not items: a cell of the release before would refuse a page with a kind that it does not know.
    switches: z.array(switchCommand).optional().meta({
      description:
        'What staff asked of the sub-services of the cell; each counts where it is later than the last change.',
    }),
    items: z.array(feedItem),
  })
  .meta({ id: 'FeedResponse' })

/**
 * The deletion ledger: what the cell has reported as erased, and which values were allowed again since. A restored cell
 * replays it before it serves. It has no content: a value is its HMAC under a key that only the cell has.
 */
export const deletionsQuery = z.object({
  after,
})

export const deletionsResponse = z
  .object({
    deletions: z.array(
      z.object({
        seq: z.int(),
        svc: idOf('svc'),
        database: z.string().optional().meta({ description: 'Absent: the whole instance.' }),
        generation: z
          .int()
          .nullable()
          .meta({ description: 'Of a whole instance. Null: reported by a release that did not send it.' }),
        ...ledgerValue,
        at: timestamp,
      }),
    ),
    next: z.int().meta({ description: 'What to send as `after`.' }),
    more: z.boolean(),
    epoch: z.string().optional().meta({ description: 'Of the feed. Under another one the numbers are others too.' }),
  })
  .meta({ id: 'DeletionsResponse' })
