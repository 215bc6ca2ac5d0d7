// A free instance that is told one event a minute with a `ttl_ms` of a day, and whose cycles take them in as soon as so
// many wait as make one due, never reaches the records or the bytes of its plan: a year by the clock of the database,
// which is moved (`--short`: 40 days, ten more than what has lost its content stays). Every request is real; the plan's
// rate is not, because a year of them comes in an hour. Mutants are planted into the database: functions replaced by
// ones that do what they did before.

import { eventually } from '@loci/chassis/testing/request.ts'
import { SCHEMA } from '@loci/daemon/schema.ts'
import { testAuthority } from '@loci/daemon/testing/authority.ts'
import { fullConsistency } from '@loci/daemon/testing/consistency.ts'
import { partnerToken } from '@loci/daemon/testing/credentials.ts'
import { type TestDaemon, testDaemon } from '@loci/daemon/testing/daemon.ts'
import { heldBy } from '@loci/daemon/testing/held.ts'
import { moveClockOf } from '@loci/daemon/testing/moved-clock.ts'
import { limitsOf, PLANS } from '@loci/management/plans.ts'
import { testDatabase } from '@loci/postgres/testing/database.ts'
import { type Report, reportOn } from '../world/report.ts'

const isShort = process.argv.includes('--short')
const asked = process.argv.find((given) => given.startsWith('--days='))?.slice('--days='.length)
const DAYS = Number(asked ?? (isShort ? 40 : 365))
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/** Told and taken in together: as many as make a cycle due where nothing else is configured. */
const TOLD = 32
const FREE = PLANS.free

const THINGS = ['kiln', 'crate', 'ladder', 'valve', 'lamp', 'ledger', 'pump', 'scale', 'shelf', 'truck']
const STATES = ['is broken', 'was packed', 'arrived late', 'was signed for', 'is empty', 'is missing', 'was repaired']
const PLACES = ['depot', 'attic', 'yard', 'office', 'workshop', 'harbour', 'annex', 'cellar']

interface Year {
  /** Of projections, records and segments, at most. */
  bytes: number
  /** Of all that counts, at the end of a day, at most. */
  held: number
  /** The message of the first write that was refused, and its day. */
  refused: { day: number; why: string } | undefined
  records: number
  /** Rows of projections at the end of each day. */
  rows: number[]
  /** At the end of a day the totals were not those of a recount. */
  miscounted: string[]
  isConsistent: boolean
  events: number
  cycles: number
}

interface YearOptions {
  days: number
  /** Statements that take back what is tested. */
  mutant?: string
  hasCycles?: boolean
  note?(line: string): void
}

await reportOn(async (report) => {
  const year = await live({ days: DAYS, note: report.note })
  const { refused, records, bytes, held, rows, events, cycles } = year
  report.promise(
    `in ${DAYS} days of an event a minute with a ttl_ms of a day no write of a free instance is refused`,
    refused === undefined && records < FREE.records / 2,
    refused
      ? `day ${refused.day}: ${refused.why}`
      : `${events} events, ${cycles} cycles; at most ${records} of ${FREE.records}`,
  )
  report.promise(
    'what it holds stays below nine tenths of the bytes of its plan, projections, records and their index below a quarter',
    held < FREE.bytes * 0.9 && bytes < FREE.bytes / 4,
    `at most ${held} and ${bytes} of ${FREE.bytes} bytes`,
  )
  const steady = (1 + 1 + 30 + 1) * (DAY_MS / MINUTE_MS)
  report.promise(
    'what has lost its content leaves 30 days later',
    Math.max(...rows) <= steady && (rows.at(-1) ?? 0) <= steady,
    `${rows.at(-1)} projections at the end, ${Math.max(...rows)} at most`,
  )
  report.promise(
    'totals are those of a recount at the end of every day, and the consistency report finds nothing',
    year.miscounted.length === 0 && year.isConsistent,
    year.miscounted[0] ?? `${DAYS} days`,
  )
  if (!asked) await mutants(report)
})

async function mutants(report: Report): Promise<void> {
  const whole = await live({
    days: 30,
    mutant: `create or replace function loci.history_days(p_instance text) returns int language sql stable as 'select 30'`,
  })
  report.mutant(
    'history is kept for 30 days',
    whole.refused && `day ${whole.refused.day}: ${whole.refused.why.slice(0, 90)}`,
  )
  const kept = await live({
    ...{ days: 34, hasCycles: false },
    mutant: `create or replace function loci.prj_let_go(p_head loci.databases, p_now timestamptz, p_limit int) returns loci.databases
      language sql as 'select p_head'`,
  })
  const steady = 33 * (DAY_MS / MINUTE_MS)
  const grown = Math.max(...kept.rows)
  report.mutant('rows without content never leave', grown > steady ? `${grown} projections after 34 days` : undefined)
  const counted = await live({
    ...{ days: 9, hasCycles: false },
    mutant: `create or replace function loci.prj_count(p_head loci.databases, p loci.projections, p_sign int) returns loci.databases
      language plpgsql immutable as $$ declare v_head loci.databases := p_head; begin
        v_head.prj_rows := v_head.prj_rows + p_sign; v_head.prj_held := v_head.prj_rows;
        v_head.prj_bytes := v_head.prj_bytes + p_sign * loci.prj_bytes(p);
        v_head.prj_set_a := v_head.prj_set_a # loci.digest_part(p.digest, 1); v_head.prj_set_b := v_head.prj_set_b # loci.digest_part(p.digest, 9);
        v_head.prj_pending := v_head.prj_pending + p_sign * p.is_pending::int; return v_head; end $$`,
  })
  report.mutant(
    'rows without content are records',
    counted.refused && `day ${counted.refused.day}: ${counted.refused.why.slice(0, 90)}`,
  )
}

async function live({ days, mutant, hasCycles = true, note = () => {} }: YearOptions): Promise<Year> {
  await using database = await testDatabase({ schema: SCHEMA })
  const clock = await moveClockOf(database)
  await using daemon = await testDaemon({ database, settings: { feedStaleS: 10 * 365 * 86_400 } })
  await using authority = await testAuthority(daemon)
  if (mutant) await daemon.sql(mutant)
  const { requests_per_second, burst, ...limits } = limitsOf('free')
  const own = await authority.addInstance({ plan: 'free', limits: limits as never })
  const authorization = `Bearer ${await partnerToken(authority, own, ['event'])}`
  const year: Year = {
    ...{
      refused: undefined,
      records: 0,
      bytes: 0,
      held: 0,
      rows: [],
      miscounted: [],
      isConsistent: false,
      events: 0,
      cycles: 0,
    },
  }
  const system = () => own.root({ ops: ['system:read'], ks: ['*/*'] })
  const cycle = async (day: number) => {
    const token = own.root({ ops: ['cycles:run'], ks: ['*/*'] })
    const limits = { maxEvents: TOLD, maxDurationMs: 10_000, queueMs: 10_000 }
    const answer = await again(async () => own.call(token, 'POST /v1/cognitive/cycles', { body: { limits } }))
    if (answer.status === 403) year.refused ??= { day, why: answer.text }
    else if (answer.status !== 200) throw new Error(answer.text)
    year.cycles += 1
  }
  for (let day = 1; day <= days && !year.refused; day += 1) {
    for (let minute = 0; minute < DAY_MS / MINUTE_MS; minute += TOLD) {
      const count = Math.min(TOLD, DAY_MS / MINUTE_MS - minute)
      const body = Array.from({ length: count }, (_, at) => eventAt(year.events + at))
      const answer = await again(async () =>
        daemon.ask('POST /v1/partner/projections', { body, headers: { authorization } }),
      )
      if (answer.status !== 200) {
        year.refused = { day, why: answer.text }
        break
      }
      year.events += count
      await clock.move(count * MINUTE_MS)
      if (hasCycles) await cycle(day)
    }
    for (const keep of ['keep_event_partitions', 'keep_slot_partitions']) await daemon.sql(`select loci.${keep}()`)
    await settle(daemon)
    const { counted, held } = await heldBy(daemon, own.svc)
    if (JSON.stringify(counted) !== JSON.stringify(held))
      year.miscounted.push(`day ${day}: ${JSON.stringify({ counted, held })}`)
    year.records = Math.max(year.records, counted.records)
    year.held = Math.max(year.held, counted.bytes)
    const [row] = await daemon.sql<{ n: number; bytes: number }>(
      `select count(*)::int as n, sum(loci.prj_bytes(p))::int + (select sum(loci.record_bytes(r))::int from loci.records r)
        + (select coalesce(sum(octet_length(body)), 0)::int from loci.segments) as bytes from loci.projections p`,
    )
    year.bytes = Math.max(year.bytes, row?.bytes ?? 0)
    year.rows.push(row?.n ?? 0)
    if (day % 10 === 0 || day === days)
      note(
        `day ${day}: ${counted.records} records, ${counted.bytes} bytes, ${row?.n} projections; ${await parts(daemon)}`,
      )
  }
  year.isConsistent = (await fullConsistency((line) => own.call(system(), line))) === 'consistent'
  await clock.close()
  return year
}

/** No two say the same. */
function eventAt(n: number) {
  const pick = (words: string[], by: number) => words[Math.floor(n / by) % words.length]
  return {
    ...{
      projection_class: 'event',
      source_event_id: `evt-${n}`,
      run_id: `run-${Math.floor(n / 1_440)}`,
      task_class: 'stock',
    },
    payload: {
      text: `The ${pick(THINGS, 1)} in the ${pick(PLACES, 7)} ${pick(STATES, 3)}, says report ${n}.`,
      number: n,
    },
    ttl_ms: DAY_MS,
  }
}

/** A busy machine says 503: nothing was done, by its own word. */
async function again<Answer extends { status: number; text: string }>(ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    // Of an unknown outcome too: an event that is there is answered, and one more cycle takes in nothing.
    const isUnknown = answer.status === 500 && /OUTCOME_UNKNOWN/.test(answer.text)
    if (![409, 429, 503].includes(answer.status) && !isUnknown) return answer
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

/** Until nothing is due by the moved clock. */
async function settle(daemon: TestDaemon): Promise<void> {
  await eventually(
    async () => (await daemon.sql('select from loci.due where at <= clock_timestamp()')).length === 0,
    600_000,
  )
}

/** Rows and kilobytes of the tables that grow. */
async function parts(daemon: TestDaemon): Promise<string> {
  const [row] = await daemon.sql<{ parts: string }>(`select concat_ws(', ',
    (select format('%s records %s KB', count(*), sum(loci.record_bytes(r))::bigint / 1000) from loci.records r),
    (select format('%s segments %s KB', count(*), sum(octet_length(body))::bigint / 1000) from loci.segments),
    (select format('%s contexts', count(*)) from loci.contexts),
    (select format('projections %s KB', sum(loci.prj_bytes(p))::bigint / 1000) from loci.projections p),
    (select format('%s cycles %s KB', count(*), sum(loci.cycle_bytes(c))::bigint / 1000) from loci.cycles c),
    (select format('%s decisions %s KB', count(*), sum(octet_length(body) + 150)::bigint / 1000) from loci.cycle_decisions),
    (select format('%s slot versions %s KB', count(*), sum(150 + 2 * octet_length(key) + octet_length(text) + octet_length(meta))::bigint / 1000) from loci.slot_versions),
    (select format('%s evictions %s KB', count(*), sum(150 + 2 * octet_length(key) + octet_length(why))::bigint / 1000) from loci.evictions)) as parts`)
  return row?.parts ?? ''
}
