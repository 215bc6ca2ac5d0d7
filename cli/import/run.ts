// One import: items of a source become drafts, drafts records of a database, records batches. It writes nothing twice,
// so whatever stops it, the same command goes on.

import { TTL_MS_MAX } from '@loci/contract/kv.ts'
import { CommandFailure, failureOf, usage } from '../failure.ts'
import { ITEM_DEPTH_MAX, isDeeperThan } from './depth.ts'
import { Broken } from './json-items.ts'
import { type Draft, type Found, type Item, isDraft, isObject, type Kind } from './kind.ts'
import { KINDS, likeliest } from './kinds.ts'
import { databaseOf, databaseOfField } from './people.ts'
import { piecesOf } from './pieces.ts'
import type { Tally } from './report.ts'
import type { Writer } from './writer.ts'

/** After so many things of which none is known it is another kind of file. */
const STRANGE_MAX = 20
const TOLD_EACH_MS = 2_000

export interface Import {
  kind: Kind
  items: AsyncIterable<Item | { note: string }>
  tally: Tally
  /** None in a dry run. */
  writer: Writer | undefined
  whose(draft: Draft): Place | { why: string }
  say(line: string): void
  signal: AbortSignal
}

export interface Place {
  database: string
  user: string | null
}

export async function runImport({ kind, items, tally, writer, whose, say, signal }: Import): Promise<void> {
  const { read, end } = kind.start()
  const strange: Item[] = []
  /** Objects of which nothing came: members of another form, or of this one without anything in them. */
  const passed: Item[] = []
  let isKnown = false
  let toldAt = performance.now()

  const take = async (found: readonly Found[]) => {
    for (const one of found) {
      signal.throwIfAborted()
      if (!isDraft(one)) tally.skip(one.what, one.why)
      else await takeDraft(one)
    }
    if (performance.now() - toldAt < TOLD_EACH_MS) return
    toldAt = performance.now()
    say(`${tally.read} read, ${tally.stored} stored, ${tally.alreadyThere} already there`)
  }

  const takeDraft = async (draft: Draft) => {
    const place = whose(draft)
    if ('why' in place) return tally.skip(nameOf(draft), place.why)
    const endsAt = draft.expiresAt === undefined ? undefined : Date.parse(draft.expiresAt)
    if (endsAt !== undefined && endsAt <= Date.now())
      return tally.skip(nameOf(draft), 'the source would have forgotten it by now')
    const { records, noPlace, why } = piecesOf(draft)
    if (why !== undefined) return tally.skip(nameOf(draft), why)
    const isFar = endsAt !== undefined && endsAt - Date.now() >= TTL_MS_MAX
    tally.take(isFar ? [...noPlace, 'an end more than ten years away'] : noPlace, records, place)
    await writer?.add(
      place.database,
      records.map((record) => ({ record, endsAt: isFar ? undefined : endsAt })),
    )
  }

  try {
    for await (const item of items) {
      signal.throwIfAborted()
      if ('note' in item) {
        tally.note(item.note)
        continue
      }
      if (isDeeperThan(item.value, ITEM_DEPTH_MAX)) {
        tally.skip('thing', `it is nested deeper than ${ITEM_DEPTH_MAX} levels`)
        continue
      }
      const found = read(item)
      if (found === undefined) {
        if (strange.length < STRANGE_MAX) strange.push(item)
        else if (!isKnown) throw unknownShape(kind, strange)
        if (isKnown) tally.skip('thing', `it has not the form of ${kind.name}`)
        continue
      }
      if (found.length === 0 && isObject(item.value) && passed.length < STRANGE_MAX) passed.push(item)
      // A member that is passed over says nothing of what the file is.
      if (found.length > 0 && !isKnown) {
        isKnown = true
        for (const _ of strange) tally.skip('thing', `it has not the form of ${kind.name}`)
      }
      await take(found)
    }
    const last = end?.() ?? []
    if (!isKnown && last.length === 0 && strange.length + passed.length > 0)
      throw unknownShape(kind, [...strange, ...passed])
    await take(last)
    await writer?.end()
  } catch (error) {
    throw stopped(error, tally, signal, writer !== undefined)
  }
}

function nameOf({ record }: Draft): string {
  return record.kind ?? 'memory'
}

function unknownShape(kind: Kind, items: readonly Item[]): CommandFailure {
  const near = likeliest(items)
  const seen = items.flatMap(({ path, value }) => [...path, ...(isObject(value) ? Object.keys(value) : [])])
  const named = [...new Set(seen)].slice(0, 8).join(', ')
  const hint =
    near && near !== kind
      ? `It looks like ${near.name}: loci import ${near.name} …`
      : `Known are: ${KINDS.map(({ name }) => name).join(', ')}. docs/import.md shows each form.`
  return usage(`This is not ${kind.title}${named === '' ? '' : `: it has ${named}`}.`, hint)
}

/** Whatever it was, what was written stays written, and the same command goes on. */
function stopped(error: unknown, tally: Tally, signal: AbortSignal, isWriting: boolean): CommandFailure {
  const again = 'Run the same command again: what is there is not stored twice.'
  const so = `${tally.read} read, ${tally.stored} stored, ${tally.alreadyThere} already there.`
  const details = tally.report()
  if (signal.aborted)
    return new CommandFailure('interrupted', 'INTERRUPTED', `Stopped: ${so}`, { hint: again, details })
  if (error instanceof Broken) {
    const message = `The source cannot be read to its end: ${error.message}.`
    return new CommandFailure('usage', 'BROKEN_SOURCE', message, { hint: `${so} With a whole file: ${again}`, details })
  }
  const failure = failureOf(error)
  if (failure.exit === 2 && failure.code === 'USAGE') return failure
  const { hint } = failure.fields
  const told = [hint, isWriting ? `${so}\n${again}` : so].filter((line) => line !== undefined).join('\n')
  Object.assign(failure.fields, { hint: told, details })
  return failure
}

/** `user`: everything there. `fields`: the first of them that a thing has says whose it is. */
export function choosing(
  kind: Kind,
  { user, fields, fallback }: { user: string | undefined; fields: readonly string[]; fallback: string },
): Import['whose'] {
  const told = fields.length > 0 ? fields : kind.usersFrom
  if (user !== undefined) return () => ({ database: user, user: null })
  if (told.length === 0) return () => ({ database: fallback, user: null })
  return (draft) => {
    for (const [at, field] of told.entries()) {
      const id = fieldOf(draft, field)
      if (id === undefined) continue
      if (kind.namesDatabases && field === 'database')
        return /^[a-z0-9_-]{1,64}$/.test(id)
          ? { database: id, user: null }
          : { why: 'its database has no name of a-z, 0-9, _ and -' }
      return at === 0
        ? { database: databaseOf(id), user: id }
        : { database: databaseOfField(field, id), user: `${field} ${id}` }
    }
    return { why: `it has no ${told.join(', no ')}: --user names whose it is` }
  }
}

function fieldOf({ scope, record }: Draft, field: string): string | undefined {
  if (scope[field] !== undefined) return scope[field]
  if (!field.startsWith('metadata.')) return undefined
  let value: unknown = record.metadata
  for (const name of field.split('.').slice(1)) value = isObject(value) ? value[name] : undefined
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}
