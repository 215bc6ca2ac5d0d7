// What became of everything that was read: as JSON, and as lines for people.

import type { RecordWrite } from '@loci/sdk/daemon.ts'
import { columns, counted, short } from '../commands/shown.ts'

export interface Report {
  kind: string
  source: string
  dry_run: boolean
  /** Things of the source: memories, messages. */
  read: number
  /** What they became, with the parts of those that were too long. */
  records: number
  stored: number
  already_there: number
  /** Of those: in other words than the source has now. */
  changed: number
  skipped: { what: string; why: string; count: number }[]
  no_place: { what: string; count: number }[]
  split: { texts: number; parts: number }
  databases: { database: string; user: string | null; records: number }[]
  notes: string[]
  examples: { database: string; record: RecordWrite }[]
}

const EXAMPLES = 3
const DATABASES_MAX = 10_000
const SEPARATOR = '\u0000'

export interface Tally {
  report(): Report
  readonly read: number
  readonly stored: number
  readonly alreadyThere: number
  skip(what: string, why: string, isRead?: boolean): void
  take(
    noPlace: readonly string[],
    records: readonly RecordWrite[],
    place: { database: string; user: string | null },
  ): void
  store(count: number): void
  meet(count: number, changed: number): void
  note(line: string): void
}

export function tallyOf({ kind, source, isDry }: { kind: string; source: string; isDry: boolean }): Tally {
  const skipped = new Map<string, number>()
  const noPlace = new Map<string, number>()
  const databases = new Map<string, { user: string | null; records: number }>()
  const examples: Report['examples'] = []
  const notes = new Set<string>()
  let [read, records, stored, alreadyThere, changed, texts, parts] = [0, 0, 0, 0, 0, 0, 0]
  const add = (map: Map<string, number>, name: string) => map.set(name, (map.get(name) ?? 0) + 1)
  return {
    get read() {
      return read
    },
    get stored() {
      return stored
    },
    get alreadyThere() {
      return alreadyThere
    },
    /** `isRead`: a record of something that was counted when it was taken. */
    skip(what, why, isRead = false) {
      if (!isRead) read += 1
      add(skipped, `${what}${SEPARATOR}${why}`)
    },
    take(lost, pieces, { database, user }) {
      read += 1
      records += pieces.length
      if (pieces.length > 1) {
        texts += 1
        parts += pieces.length
      }
      for (const name of lost) add(noPlace, name)
      const known = databases.get(database)
      if (known) known.records += pieces.length
      else if (databases.size < DATABASES_MAX) databases.set(database, { user, records: pieces.length })
      else notes.add(`More than ${DATABASES_MAX} databases: those beyond are not listed.`)
      const [record] = pieces
      if (isDry && record && examples.length < EXAMPLES) examples.push({ database, record })
    },
    store(count) {
      stored += count
    },
    meet(count, different) {
      alreadyThere += count
      changed += different
    },
    note: (line) => void notes.add(line),
    report: () => ({
      kind,
      source,
      dry_run: isDry,
      read,
      records,
      stored,
      already_there: alreadyThere,
      changed,
      skipped: ranked(skipped).map(([name, count]) => {
        const [what = '', why = ''] = name.split(SEPARATOR)
        return { what, why, count }
      }),
      no_place: ranked(noPlace).map(([what, count]) => ({ what, count })),
      split: { texts, parts },
      databases: [...databases].map(([database, one]) => ({ database, ...one })),
      notes: [...notes],
      examples,
    }),
  }
}

function ranked(counts: ReadonlyMap<string, number>): [string, number][] {
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1))
}

const SHOWN_MAX = 20
const number = (count: number) => count.toLocaleString('en-US')

export function reportLines(report: Report): string[] {
  const { kind, source, dry_run, read, records, stored, already_there, changed, skipped, no_place, split } = report
  const left = skipped.reduce((sum, { count }) => sum + count, 0)
  const rows = [
    ['read', number(read)],
    ...(dry_run ? [['would store', `${number(records)}, less what is there already`]] : []),
    ...(dry_run ? [] : [['stored', number(stored)]]),
    ...(dry_run ? [] : [['already there', `${number(already_there)}${changedText(changed)}`]]),
    ['skipped', number(left)],
    ...(split.texts > 0 ? [['cut', `${counted(split.texts, 'long text')} into ${number(split.parts)} records`]] : []),
  ].map(([name = '', value = '']) => [`  ${name}`, value])
  return [
    `${kind} · ${source}${dry_run ? ' · dry run, nothing was written' : ''}`,
    ...columns(rows),
    ...list(
      'skipped',
      skipped.map(({ what, why, count }) => [`    ${number(count)}`, `${what}: ${why}`]),
    ),
    ...list(
      'had no place',
      no_place.map(({ what, count }) => [`    ${number(count)}`, what]),
    ),
    ...list('whose', report.databases.map(placeRow)),
    ...report.notes.map((note) => `  ${note}`),
    ...report.examples.flatMap(exampleLines),
  ]
}

function changedText(changed: number): string {
  return changed > 0
    ? `, ${number(changed)} in other words than the source has now (loci memory forget, then again)`
    : ''
}

function placeRow({ database, user, records }: Report['databases'][number]): string[] {
  const from = user === null || user === database ? '' : `  ← ${user}`
  return [`    ${number(records)}`, `${database}${from}`]
}

function list(title: string, rows: string[][]): string[] {
  if (rows.length === 0) return []
  const more = rows.length > SHOWN_MAX ? [`    … and ${rows.length - SHOWN_MAX} more: --json has all`] : []
  return [`  ${title}`, ...columns(rows.slice(0, SHOWN_MAX)), ...more]
}

function exampleLines({ database, record }: Report['examples'][number], at: number): string[] {
  const { content, key, contextId, actor, occurredAt, tags, sourceEventId } = record
  const told = Object.entries({ key, context: contextId, actor, at: occurredAt, tags: tags?.join(', ') })
  return [
    `  example ${at + 1}  ${sourceEventId} → ${database}`,
    `    ${short(content)}`,
    ...told.flatMap(([name, value]) => (value === undefined ? [] : [`    ${name} ${value}`])),
  ]
}
