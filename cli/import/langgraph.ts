// LangGraph: rows of the table `store` of its PostgreSQL store. Checkpoints are not memories and stay where they are.

import { type Draft, type Found, type Item, isObject, type Kind, lostOf, momentIn, present, textIn } from './kind.ts'
import { digestOf, sourceIdOf } from './source-id.ts'

/** Where a value keeps its text, as LangMem and the documentation of LangGraph write it. */
const TEXTS = ['content', 'text', 'memory', 'data'] as const
const KEY_BYTES_MAX = 256

export const LANGGRAPH: Kind = {
  name: 'langgraph',
  title: 'rows of the table store of LangGraph, as JSON, NDJSON or CSV',
  usersFrom: [],
  telling: ['prefix', 'key', 'value'],
  lists: [],
  start: () => ({ read }),
}

function read({ value: row }: Item): readonly Found[] | undefined {
  if (!isObject(row) || typeof row.prefix !== 'string' || typeof row.key !== 'string') return undefined
  const value = valueIn(row.value)
  if (value === undefined || value === null) return [{ what: 'item', why: 'it has no value' }]
  return [draftOf({ ...row, prefix: row.prefix, key: row.key }, value)]
}

/** In CSV it is text. */
function valueIn(value: unknown): unknown {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

function draftOf(row: Record<string, unknown> & { prefix: string; key: string }, value: unknown): Draft {
  const { prefix, key } = row
  const told = textOf(value)
  const content = told?.text ?? JSON.stringify(value)
  const levels = prefix.split('.')
  const place = `${prefix}/${key}`
  const isNamed = Buffer.byteLength(place) <= KEY_BYTES_MAX && !/\p{Cc}/u.test(place)
  const updatedAt = momentIn(row.updated_at)
  const occurredAt = updatedAt ?? momentIn(row.created_at)
  // An item that was written again has another time and, where there is none, another text: it takes the place of the
  // one before, because the key is the same.
  const version = textIn(row.updated_at) ?? digestOf(content)
  return {
    record: {
      content,
      sourceEventId: sourceIdOf('langgraph', prefix, key, version),
      ...(isNamed ? { key: place } : {}),
      ...(occurredAt === undefined ? {} : { occurredAt }),
      metadata: {
        langgraph: {
          ...present(row, ['prefix', 'key', 'created_at', 'updated_at']),
          ...(told && Object.keys(told.rest).length > 0 ? { value: told.rest } : {}),
        },
      },
    },
    scope: { prefix, key, ...Object.fromEntries(levels.map((level, at) => [`namespace.${at}`, level])) },
    expiresAt: momentIn(row.expires_at),
    noPlace: [...lostOf(row, ['ttl_minutes', 'embedding']), ...(isNamed ? [] : ['key of more than 256 bytes'])],
  }
}

/** The text of a value, and what stands beside it; LangMem has one within the other. */
function textOf(value: unknown): { text: string; rest: Record<string, unknown> } | undefined {
  if (typeof value === 'string') return textIn(value) === undefined ? undefined : { text: value, rest: {} }
  if (!isObject(value)) return undefined
  for (const name of TEXTS) {
    const inner = value[name]
    const { [name]: _, ...rest } = value
    const text = textIn(inner)
    if (text !== undefined) return { text, rest }
    if (!isObject(inner)) continue
    const nested = textOf(inner)
    if (nested)
      return { text: nested.text, rest: Object.keys(nested.rest).length > 0 ? { ...rest, [name]: nested.rest } : rest }
  }
  return undefined
}
