// The timeline of a mind: what was held in working memory when, since which cycle, how strongly, and why it left.

import { z } from 'zod'
import { cycleCounts, cycleTrigger } from './cognitive.ts'
import { idOf, moment, queryInteger, timestamp } from './wire.ts'

/** Of a stay's words, in characters. */
export const TIMELINE_TEXT_MAX = 1_000

export const timelineQuery = z.object({
  since: moment.optional(),
  until: moment.optional(),
  content: z.enum(['true', 'false']).default('false').meta({ description: 'true: with what each stay said.' }),
  cursor: z.string().min(1).max(100).optional(),
  limit: queryInteger({ min: 1, max: 500, fallback: 200 }),
})

const timelineCycle = z
  .object({
    seq: z.int(),
    id: idOf('cyc'),
    at: timestamp.meta({ description: 'When it began: the moment that it decided for.' }),
    trigger: cycleTrigger,
    focus: z.string().nullable(),
    counts: cycleCounts,
    bar: z.number().nullable().meta({ description: 'What a candidate had to reach under the focus.' }),
  })
  .meta({ id: 'TimelineCycle' })

const timelineItem = z
  .object({
    key: z.string(),
    recordId: z.string().nullable(),
    pinned: z.boolean(),
    from: z
      .object({
        at: timestamp,
        by: z.enum(['put', 'observed', 'recalled']).meta({
          description: 'Somebody wrote it, a cycle heard it, or a cycle brought it back from memory.',
        }),
        cycle: z.int().nullable().meta({ description: 'That brought it; null: none did.' }),
      })
      .nullable()
      .meta({ description: 'Null: when it came is no longer kept, or was erased.' }),
    to: z
      .object({
        at: timestamp,
        reasonCode: z.string(),
        displacedBy: z.string().nullable(),
        cycle: z.int().nullable().meta({ description: 'That removed it; null: none did.' }),
      })
      .nullable()
      .meta({
        description:
          'Null: it stayed beyond this page; where it left within what was asked for, a page before has its end.',
      }),
    activation: z.number().nullable().meta({ description: 'When its words were last written.' }),
    scores: z.array(z.tuple([z.int(), z.number()])).meta({
      description: 'Its activation after each cycle of this page that kept it: number of the cycle, score.',
    }),
    text: z
      .string()
      .optional()
      .meta({ description: `With \`content=true\`: what it said, at most ${TIMELINE_TEXT_MAX} characters.` }),
    cut: z.literal(true).optional().meta({ description: 'The text has more.' }),
    redacted: z
      .literal(true)
      .optional()
      .meta({ description: 'With `content=true`: what it said was erased, or is no longer kept.' }),
  })
  .meta({ id: 'TimelineItem' })

export const timeline = z
  .object({
    capacity: z.int().meta({ description: 'Of now.' }),
    cycles: z.array(timelineCycle).meta({ description: 'Newest first.' }),
    items: z.array(timelineItem).meta({
      description:
        'Stays, by when they began. A stay is named by its key and where it began: one that lasts over several pages is on each whose cycles judged it, and its scores add up.',
    }),
    complete: z.boolean().meta({
      description:
        'False: some that were in mind at `until` may be missing, because it is not known what became of them since.',
    }),
    damaged: z.array(
      z.object({
        kind: z.enum(['cycle', 'decisions', 'slot']),
        ref: z.string().nullable(),
        reason: z.enum(['digest_mismatch', 'chain_break', 'missing', 'page_unreadable', 'undecodable']),
      }),
    ),
    prunedBefore: timestamp.nullable().meta({
      description: 'Of what was asked for, the part before this is not kept whole. Null: all of it is kept.',
    }),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'Timeline', description: 'Newest first.' })
export type Timeline = z.infer<typeof timeline>
export type TimelineItem = z.infer<typeof timelineItem>

/** The life of one memory. */
export const recordTrace = z
  .object({
    supersedes: z.array(idOf('mem')).meta({ description: 'What it took the place of.' }),
    supersededBy: idOf('mem').nullable().meta({
      description: 'What took its place; null: nothing did, or it is no longer known what.',
    }),
    presentations: z
      .object({ n: z.int(), first: timestamp, last: timestamp })
      .meta({ description: 'How often it was said, stored or seen by a cycle.' }),
    slot: z
      .object({ key: z.string(), since: timestamp, activation: z.number(), pinned: z.boolean() })
      .nullable()
      .meta({ description: 'Where it is in mind now; null: nowhere, or without `cycles:read`.' }),
    decisions: z
      .array(
        z.object({
          cycleSeq: z.int(),
          at: timestamp,
          action: z.string(),
          reasonCode: z.string(),
          reason: z.string(),
          score: z.number(),
        }),
      )
      .nullable()
      .meta({
        description:
          'Of the cycles that stored it, heard it again, brought it into mind or let it go: oldest first. Null without `cycles:read`.',
      }),
    complete: z.boolean().meta({
      description: 'False: it came and went more often than is told, or decisions of then are no longer kept.',
    }),
  })
  .meta({ id: 'RecordTrace' })
export type RecordTrace = z.infer<typeof recordTrace>
