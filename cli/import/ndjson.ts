// Our own form, for everything that has no importer: a record per line, with the names that the API has, and
// `database`.

import { type Found, type Item, idIn, isObject, type Kind, momentIn, textIn } from './kind.ts'
import { digestOf, sourceIdOf } from './source-id.ts'

/** What POST /v1/memory/records takes and a line may say. */
const WRITTEN = [
  ...['content', 'key', 'contextId', 'actor', 'occurredAt', 'media', 'kind', 'tags', 'evidenceRefs', 'salience'],
  ...['dueAt', 'ttlMs', 'metadata', 'sourceEventId'],
]
/** Of a record as it is read: the server makes them anew, or they are told otherwise. */
const MADE = new Set([
  'id',
  'database',
  'version',
  'digest',
  'createdAt',
  'validFrom',
  'validTo',
  'expiresAt',
  'salienceHint',
])

export const NDJSON: Kind = {
  name: 'ndjson',
  title: 'a record per line, with the names of POST /v1/memory/records, and database',
  usersFrom: ['database'],
  namesDatabases: true,
  telling: ['content', 'database', 'contextId', 'sourceEventId', 'occurredAt'],
  lists: ['records'],
  start: () => ({ read }),
}

function read({ path, value: line }: Item): readonly Found[] | undefined {
  if (path.length > 0 && path[0] !== 'records') return []
  if (!isObject(line) || !('content' in line)) return undefined
  if (textIn(line.content) === undefined) return [{ what: 'record', why: 'its content is no text, or empty' }]
  if (isGiven(line.validTo)) return [{ what: 'record', why: 'another one had taken its place' }]
  const given = Object.fromEntries(WRITTEN.flatMap((name) => (isGiven(line[name]) ? [[name, line[name]]] : [])))
  const id = idIn(line.id)
  const sourceEventId =
    textIn(line.sourceEventId) ?? sourceIdOf('ndjson', id ?? digestOf(JSON.stringify([line.database, given])))
  // What the server read as salience holds a part that it finds in the text again.
  const salience = typeof line.salienceHint === 'number' ? line.salienceHint : line.salience
  const record = { ...given, ...(isGiven(salience) ? { salience } : {}), sourceEventId }
  const lost = Object.keys(line).filter((name) => !WRITTEN.includes(name) && !MADE.has(name) && isGiven(line[name]))
  return [
    {
      record: record as { content: string; sourceEventId: string },
      scope: { database: textIn(line.database) },
      expiresAt: momentIn(line.expiresAt),
      noPlace: lost,
    },
  ]
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}
