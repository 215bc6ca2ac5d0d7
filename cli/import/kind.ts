// What an importer is: a reader of one format that turns what it is given into records, without any input or output of
// its own. The runner reads, chooses the database, splits, writes and reports.

import type { RecordWrite } from '@loci/sdk/daemon.ts'

/** A thing of the source as a record, before it is known whose it is. */
export interface Draft {
  record: RecordWrite & { sourceEventId: string }
  /** Ids of the source that say whose it is, by the names of its fields. */
  scope: Readonly<Record<string, string | undefined>>
  /** When the source would have forgotten it. */
  expiresAt?: string | undefined
  /** Fields of the thing for which a record has no place. */
  noPlace: readonly string[]
}

/** `what` is the kind of thing, `why` the reason: they are counted together. */
export interface Skipped {
  what: string
  why: string
}

export type Found = Draft | Skipped

/** An element of a list, with the name that the list had in the document; [] where the document is the list. */
export interface Item {
  path: readonly string[]
  value: unknown
}

/** `undefined`: not of this kind. An empty list: known, and nothing to remember. */
export type ReadItem = (item: Item) => readonly Found[] | undefined

export interface Reading {
  read: ReadItem
  /** What could only be said when everything was read. */
  end?(): readonly Found[]
}

/** One request to the server of a source; the answer is its JSON. */
export type Ask = (request: { path: string; body?: unknown; headers?: Record<string, string> }) => Promise<unknown>

export interface Kind {
  name: string
  /** What it reads, for a refusal. */
  title: string
  /** Fields of `scope` that say whose a thing is, the first that is there; none: everything is one person's. */
  usersFrom: readonly string[]
  /** They hold names of databases, which are taken as they are. */
  namesDatabases?: boolean
  /** Fields that most things of this kind have and those of others do not. */
  telling: readonly string[]
  /** Members of a document under which its lists stand. */
  lists: readonly string[]
  /** Why nothing was known although the form is right. */
  start(): Reading
  /** How its API is listed, page by page; none: it has no API that lists. */
  pages?(url: URL, ask: Ask, key: string | undefined): AsyncGenerator<Item | { note: string }>
}

export function isDraft(found: Found): found is Draft {
  return 'record' in found
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function objectIn(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

export function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** A text that is not blank. */
export function textIn(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** An id may be a number. */
export function idIn(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : textIn(value)
}

export function textsIn(value: unknown): string[] {
  return listIn(value).flatMap((one) => textIn(one) ?? [])
}

const EPOCH_MS_MIN = 100_000_000_000

/** A time as records have it. Numbers count seconds or milliseconds; a time without a zone is taken as UTC. */
export function momentIn(value: unknown): string | undefined {
  if (typeof value === 'number') {
    const date = new Date(Math.round(Math.abs(value) < EPOCH_MS_MIN ? value * 1_000 : value))
    return Number.isNaN(date.getTime()) || value === 0 ? undefined : date.toISOString()
  }
  const text = textIn(value)?.trim()
  if (text === undefined) return undefined
  const [, day, time, zone = 'Z'] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?) ?(Z|z|[+-]\d\d(?::?\d\d)?)?)?$/.exec(text) ?? []
  if (day === undefined) return undefined
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone.toUpperCase()
  const date = new Date(`${day}T${time ?? '00:00'}${offset}`)
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString()
}

/** What has a value, in the order of `names`. */
export function present(thing: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (isGiven(thing[name]) ? [[name, thing[name]]] : [])))
}

/** Names of those that have a value, of the fields that have no place. */
export function lostOf(thing: Record<string, unknown>, names: readonly string[]): string[] {
  return names.filter((name) => isGiven(thing[name]))
}

function isGiven(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0) return false
  if (Array.isArray(value)) return value.length > 0
  return !isObject(value) || Object.keys(value).length > 0
}

const TAGS_MAX = 32
const TAG_CHARS_MAX = 64

/** Those that fit; the source's own lists stand in the metadata whole. */
export function tagsOf(wanted: readonly (string | undefined)[]): { tags?: string[] } {
  const tags = [...new Set(wanted)].filter((tag) => tag !== undefined && tag !== '' && tag.length <= TAG_CHARS_MAX)
  return tags.length > 0 ? { tags: tags.slice(0, TAGS_MAX) as string[] } : {}
}
