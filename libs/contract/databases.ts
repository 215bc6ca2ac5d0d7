// Whole databases of a service: one for each person, team, agent or project.

import { z } from 'zod'
import { idOf, queryInteger, timestamp } from './wire.ts'

const databaseName = z.string().regex(/^[a-z0-9_-]{1,64}$/)

export const databaseParams = z.object({ name: databaseName })

export const databaseListQuery = z.object({
  cursor: databaseName.optional(),
  limit: queryInteger({ min: 1, max: 1_000, fallback: 1_000 }),
})

const count = z.int().min(0)

export const databaseList = z
  .object({
    databases: z.array(
      z.object({
        name: z.string(),
        records: count.meta({ description: 'Memories.' }),
        slots: count,
        keys: count.meta({ description: 'Entries of the key-value store.' }),
        bytes: count.meta({ description: 'All that it holds, with history and index.' }),
        createdAt: timestamp,
      }),
    ),
    nextCursor: z.string().nullable(),
  })
  .meta({ id: 'DatabaseList', description: 'By name.' })

const erasure = {
  name: z.string(),
  receipt: idOf('aud').nullable().meta({
    description: 'The entry of the audit that says so; null: another request has begun the erasure.',
  }),
  ledgered: z.enum(['cell', 'management']).meta({
    description:
      'How far the deletion ledger has come, which a restored cell replays before it serves: as of a deleted memory.',
  }),
}

export const databaseDeleted = z.object({ deleted: z.literal(true), ...erasure }).meta({ id: 'DatabaseDeleted' })

export const databaseErasing = z.object({ deleted: z.literal(false), erasing: z.literal(true), ...erasure }).meta({
  id: 'DatabaseErasing',
  description: 'Nothing of it is read any more; a write is 409 until the rest is erased.',
})
