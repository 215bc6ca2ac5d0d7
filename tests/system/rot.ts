// What rots is never served as truth, never hides what is healthy, and always shows in the report.
//
// Two tenants with several databases. First a superuser edits, swaps, moves and deletes rows behind the daemon's back.
// Then bits are turned over inside live tuples of the table's file while the server is stopped: with checksums whole
// pages become unreadable, without them the server serves whatever it finds. After each the whole of every database is
// listed and verified and held against a ledger of what was written.

import { copyFileSync, rmSync } from 'node:fs'
import { flipBits, listTuples, type Tuple } from '../robustness/heap-file.ts'
import { type Ledger, type RotCell, startRotCell } from '../robustness/rot-cell.ts'
import { memoryMutants, recordEdits, segmentEdits } from '../robustness/rot-memory.ts'
import { rotSlots } from '../robustness/rot-slots.ts'
import { reportOf, survey } from '../robustness/rot-survey.ts'
import {
  complain,
  figures,
  isClean,
  isKept,
  issuesIn,
  judge,
  noVerdict,
  type Outcome,
  type Verdict,
} from '../robustness/rot-verdict.ts'
import { plantMutant } from '../world/mutant.ts'
import { type Report, reportOn } from '../world/report.ts'

const isShort = process.argv.includes('--short')
const seedArgument = process.argv.find((argument) => argument.startsWith('--seed='))
const SEED = seedArgument ? Number(seedArgument.slice('--seed='.length)) : Math.floor(Math.random() * 1e9)
const ROWS_PER_DATABASE = isShort ? 300 : 900
const EDITS = isShort ? 60 : 320
const SLOT_EDITS = isShort ? 19 : 95
const MEMORY_ROUNDS = isShort ? 1 : 2
const FLIPS = isShort ? 12 : 64
const FLIPS_PER_ROUND = isShort ? 6 : 16

/** Bytes of the tuple's header that decide whether and how it is read: xmin, xmax, both masks, where the data begin. */
const HEADER_BYTES = [0, 1, 2, 3, 4, 5, 6, 7, 18, 19, 20, 21, 22]

const AT = 'instance_id = $1 and database = $2 and key = $3'
/** Of one row, in place. */
const SINGLE: string[] = [
  `update loci.entries set value = overlay(value placing '7' from 2 for 1) where ${AT}`,
  `update loci.entries set value = value || ' ' where ${AT}`,
  `update loci.entries set value = '' where ${AT}`,
  `update loci.entries set version = version + 1 where ${AT}`,
  `update loci.entries set version = 9223372036854775807 where ${AT}`,
  `update loci.entries set created_at = created_at - interval '1 microsecond' where ${AT}`,
  `update loci.entries set updated_at = 'infinity' where ${AT}`,
  `update loci.entries set expires_at = now() + interval '1 year' where ${AT}`,
  `update loci.entries set expires_at = now() - interval '1 year' where ${AT}`,
  `update loci.entries set digest = set_bit(digest, 5, 1 - get_bit(digest, 5)) where ${AT}`,
  `update loci.entries set digest = set_bit(digest, 255, 1 - get_bit(digest, 255)) where ${AT}`,
  `update loci.entries set digest = '' where ${AT}`,
  `delete from loci.entries where ${AT}`,
]
/** Of two rows of one database: the second takes $4 = the key of the first. */
const SWAPS: string[] = ['value', 'digest', 'version', 'value, digest, version, created_at, updated_at']

const random = randomFrom(SEED)

await reportOn(async (report) => {
  report.note(`seed ${SEED}; again: npm run test:system -- rot --seed=${SEED}`)
  {
    const cell = await startRotCell({ dataChecksums: true, rowsPerDatabase: ROWS_PER_DATABASE })
    try {
      await healthy(report, cell)
      await flips(report, cell, 'checksums on', true)
      await edits(report, cell)
      await slotEdits(report, cell)
      await recordEdits(report, cell, MEMORY_ROUNDS)
      await segmentEdits(report, cell, MEMORY_ROUNDS)
    } finally {
      await cell.close()
    }
  }
  {
    const cell = await startRotCell({ dataChecksums: false, rowsPerDatabase: ROWS_PER_DATABASE })
    try {
      await flips(report, cell, 'checksums off', false)
    } finally {
      await cell.close()
    }
  }
  await mutants(report)
  await memoryMutants(report)
})

async function healthy(report: Report, cell: RotCell): Promise<void> {
  const { outcomes, rows } = await look(cell, new Map())
  const total = cell.ledgers.reduce((sum, { entries }) => sum + entries.size, 0)
  report.promise(
    'an untouched store is consistent',
    isClean(outcomes) && rows === total,
    `${rows} rows of ${cell.tenants.length} tenants verified, ${issuesIn(outcomes)} issues`,
  )
}

/** Everything that can be asked, of both tenants. */
async function look(cell: RotCell, suspects: Map<Ledger, Set<string>>): Promise<{ outcomes: Outcome[]; rows: number }> {
  const outcomes: Outcome[] = []
  let rows = 0
  for (const tenant of cell.tenants) {
    const whole = await reportOf(tenant)
    rows += whole.rows
    for (const ledger of cell.ledgers.filter((one) => one.tenant === tenant)) {
      const found = await survey(ledger, whole.issues, suspects.get(ledger) ?? [])
      if (!/^(in)?consistent$|^unknown$/.test(whole.status))
        found.failures.push(`consistency: ${whole.status.slice(0, 200)}`)
      if (whole.status === 'consistent' && found.listed.size < ledger.entries.size)
        found.failures.push('consistency: consistent, though entries are gone')
      outcomes.push({ ledger, survey: found })
    }
  }
  return { outcomes, rows }
}

// Edits as a superuser.
// ----------------------------------------------------------------------------------------------------

async function edits(report: Report, cell: RotCell): Promise<void> {
  const touched = new Map<Ledger, Set<string>>()
  let done = 0
  while (done < EDITS) {
    const ledger = pick(cell.ledgers)
    const one = freshKey(ledger, touched)
    const at = [ledger.tenant.instanceId, ledger.db]
    const kind = done % 20
    if (kind < 13) await cell.sql(SINGLE[kind] as string, [...at, one])
    else if (kind < 17) await swap(cell, at, one, freshKey(ledger, touched), SWAPS[kind - 13] as string)
    else if (kind === 17) await cell.sql(`update loci.entries set key = key || '~' where ${AT}`, [...at, one])
    else if (kind === 18) await cell.sql(`update loci.entries set database = 'elsewhere' where ${AT}`, [...at, one])
    else touch(touched, await move(cell, ledger, one), one)
    done += 1
  }
  const { outcomes } = await look(cell, touched)
  const verdict = judge(outcomes, touched)
  complain(report, verdict)
  report.promise(`${done} edits by a superuser`, isKept(verdict) && verdict.lost >= done, figures(verdict))
}

async function slotEdits(report: Report, cell: RotCell): Promise<void> {
  const { edits: done, found, served, hidden, missed } = await rotSlots(cell, SLOT_EDITS)
  for (const line of [...served, ...hidden, ...missed].slice(0, 10)) report.note(line)
  report.promise(
    `${done} edits of slots by a superuser`,
    found === done && served.length + hidden.length + missed.length === 0,
    `${found} found, ${served.length} served as truth, ${hidden.length} healthy ones hidden`,
  )
}

async function swap(cell: RotCell, at: string[], one: string, other: string, columns: string): Promise<void> {
  const set = columns
    .split(', ')
    .map((column) => `${column} = o.${column}`)
    .join(', ')
  await cell.sql(
    `update loci.entries e set ${set} from loci.entries o where e.instance_id = $1 and e.database = $2 and o.instance_id = $1 and o.database = $2
    and ((e.key = $3 and o.key = $4) or (e.key = $4 and o.key = $3))`,
    [...at, one, other],
  )
}

/** To the other tenant, in the place of what that one has under the key. Returns what was damaged there. */
async function move(cell: RotCell, { tenant, db }: Ledger, key: string): Promise<Ledger> {
  const theirs = cell.ledgers.find((one) => one.tenant !== tenant && one.db === db) as Ledger
  await cell.sql(`delete from loci.entries where ${AT}`, [theirs.tenant.instanceId, db, key])
  await cell.sql(`update loci.entries set instance_id = $4 where ${AT}`, [
    tenant.instanceId,
    db,
    key,
    theirs.tenant.instanceId,
  ])
  return theirs
}

/** A key that nobody has damaged yet, under either tenant; it counts as damaged from now on. */
function freshKey(ledger: Ledger, touched: Map<Ledger, Set<string>>): string {
  const used = new Set([...touched.values()].flatMap((keys) => [...keys]))
  const key = pick([...ledger.entries.keys()].filter((one) => !used.has(one)))
  touch(touched, ledger, key)
  return key
}

function touch(touched: Map<Ledger, Set<string>>, ledger: Ledger, key: string): void {
  touched.set(ledger, (touched.get(ledger) ?? new Set()).add(key))
}

// Bits in the file.
// ----------------------------------------------------------------------------------------------------

interface Flip {
  tuple: Tuple
  byte: number
  bit: number
}

interface Tally {
  verdict: Verdict
  effective: number
  harmless: number
  /** Flips with which PostgreSQL's own process dies when it reads the row. */
  crashes: number
}

async function flips(report: Report, cell: RotCell, name: string, hasChecksums: boolean): Promise<void> {
  const tally: Tally = { verdict: noVerdict(), effective: 0, harmless: 0, crashes: 0 }
  const file = await cell.heapFile()
  for (let round = 0; tally.effective < FLIPS && round < 12; round += 1) {
    await cell.sql('checkpoint')
    await flipAndLook(report, cell, file, chooseFlips(listTuples(file)), hasChecksums, tally)
  }
  const { verdict, effective, harmless, crashes } = tally
  report.promise(
    `${effective} bit flips in live tuples, ${name}`,
    isKept(verdict) && effective >= FLIPS,
    `${figures(verdict)}; ${harmless} further flips changed nothing that is read`,
  )
  if (crashes > 0)
    report.note(
      `${crashes} further flips made PostgreSQL crash whenever it read the row, which checksums prevent: 503, nothing served; healthy rows of that page of the list wait for a repair`,
    )
  const { outcomes } = await look(cell, new Map())
  report.promise(`the mended file, ${name}`, isClean(outcomes), `${issuesIn(outcomes)} issues`)
}

/**
 * Without checksums a turned bit in a length or in the beginning of the data can lead PostgreSQL itself off the page,
 * and its process dies. No reader can read around that, so such flips are found out by halving and told apart; they
 * must still never be served.
 */
async function flipAndLook(
  report: Report,
  cell: RotCell,
  file: string,
  flipped: Flip[],
  hasChecksums: boolean,
  tally: Tally,
): Promise<void> {
  const owners = await ownersOf(cell)
  await cell.whileStopped(() => {
    copyFileSync(file, `${file}.good`)
    flipBits(file, flipped)
  })
  const crashesBefore = cell.crashes()
  const touched = touchedBy(flipped, owners, hasChecksums)
  const { outcomes } = await look(cell, touched)
  const hasCrashed = cell.crashes() > crashesBefore
  await cell.whileStopped(() => {
    copyFileSync(`${file}.good`, file)
    rmSync(`${file}.good`)
  })
  // A scan that met a row which looked dead has marked its index entry dead, and that is not in the file.
  await cell.sql('reindex table loci.entries')
  const verdict = judge(outcomes, touched)
  if (hasCrashed) {
    tally.verdict.lies.push(...verdict.lies)
    if (flipped.length === 1) tally.crashes += 1
    const half = Math.ceil(flipped.length / 2)
    for (const part of flipped.length === 1 ? [] : [flipped.slice(0, half), flipped.slice(half)])
      await flipAndLook(report, cell, file, part, hasChecksums, tally)
    return
  }
  if (!isKept(verdict)) {
    for (const { byte, bit, tuple } of flipped)
      report.note(
        `flipped bit ${bit} of byte ${byte - tuple.at} of ${tuple.length} (data from ${tuple.dataAt}), page ${tuple.page}`,
      )
    complain(report, verdict)
  }
  const effects = hasChecksums ? flipped.length : Math.min(flipped.length, verdict.lost)
  tally.effective += effects
  tally.harmless += flipped.length - effects
  for (const key of ['lost', 'found'] as const) tally.verdict[key] += verdict[key]
  for (const key of ['lies', 'failures', 'hidden', 'accused'] as const) tally.verdict[key].push(...verdict[key])
}

/** Who has which line of which page, while the file is still whole. */
async function ownersOf(cell: RotCell): Promise<Map<number, { ledger: Ledger; key: string; at: number }[]>> {
  const rows = await cell.sql<{ page: string; line: number; instance: string; db: string; key: string }>(
    `select ((ctid::text::point)[0])::int::text as page, ((ctid::text::point)[1])::int as line, instance_id as instance, database as db, key from loci.entries order by ctid`,
  )
  const owners = new Map<number, { ledger: Ledger; key: string; at: number }[]>()
  for (const { page, line, instance, db, key } of rows) {
    const ledger = cell.ledgers.find((one) => one.tenant.instanceId === instance && one.db === db)
    if (!ledger) continue
    const list = owners.get(Number(page)) ?? []
    list.push({ ledger, key, at: line })
    owners.set(Number(page), list)
  }
  return owners
}

function chooseFlips(tuples: Tuple[]): Flip[] {
  const chosen = new Map<number, Flip>()
  while (chosen.size < FLIPS_PER_ROUND) {
    const tuple = pick(tuples)
    const isHeader = chosen.size % 3 === 0
    const offset = isHeader ? pick(HEADER_BYTES) : tuple.dataAt + Math.floor(random() * (tuple.length - tuple.dataAt))
    // One page, one flip: the next one would say nothing that this one has not.
    if (!chosen.has(tuple.page))
      chosen.set(tuple.page, { tuple, byte: tuple.at + offset, bit: Math.floor(random() * 8) })
  }
  return [...chosen.values()]
}

function touchedBy(
  flipped: Flip[],
  owners: Awaited<ReturnType<typeof ownersOf>>,
  wholePages: boolean,
): Map<Ledger, Set<string>> {
  const touched = new Map<Ledger, Set<string>>()
  for (const { tuple } of flipped) {
    const here = owners.get(tuple.page) ?? []
    for (const { ledger, key } of wholePages ? here : here.filter(({ at }) => at === tuple.line))
      touch(touched, ledger, key)
  }
  return touched
}

// Mutants.
// ----------------------------------------------------------------------------------------------------

async function mutants(report: Report): Promise<void> {
  {
    await using mutant = await plantMutant([
      {
        file: 'daemon/kv/functions.sql',
        from: `select sha256(textsend(p_instance || E'\\x1f' || p_database`,
        to: 'select sha256(textsend(p_database',
      },
    ])
    const cell = await startRotCell({
      dataChecksums: true,
      rowsPerDatabase: 60,
      root: mutant.root,
      start: mutant.startProgram,
    })
    try {
      const touched = new Map<Ledger, Set<string>>()
      const ledger = cell.ledgers[0] as Ledger
      for (const key of [...ledger.entries.keys()].slice(0, 5)) touch(touched, await move(cell, ledger, key), key)
      const { outcomes } = await look(cell, touched)
      const { lies } = judge(outcomes, touched)
      report.mutant(
        'the digest does not cover the tenant',
        lies.length > 0 ? `${lies.length} rows of one tenant served to the other` : undefined,
      )
    } finally {
      await cell.close()
    }
  }
  {
    await using mutant = await plantMutant([
      {
        file: 'daemon/kv/damage.ts',
        from: 'return readAround(pool, damage, instanceId, database, request, error)',
        to: 'throw error',
      },
    ])
    const cell = await startRotCell({
      dataChecksums: true,
      rowsPerDatabase: 60,
      root: mutant.root,
      start: mutant.startProgram,
    })
    try {
      const file = await cell.heapFile()
      await cell.whileStopped(() => {
        const tuple = listTuples(file)[0] as Tuple
        flipBits(file, [{ byte: tuple.at + tuple.dataAt, bit: 0 }])
      })
      const { outcomes } = await look(cell, new Map())
      const { failures } = judge(outcomes, new Map())
      report.mutant('a list is one scan', failures.length > 0 ? (failures[0] as string).slice(0, 100) : undefined)
    } finally {
      await cell.close()
    }
  }
}

function pick<Item>(items: readonly Item[]): Item {
  return items[Math.floor(random() * items.length)] as Item
}

/** mulberry32: the same numbers for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
