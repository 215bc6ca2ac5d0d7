// Memory of many databases, one damage each behind the daemon's back, in the records or in the segments of the index,
// and what it says of them.

import { eventually } from '@loci/chassis/testing/request.ts'
import { MEMORY_RIGHTS, memoryOf, type TestMemory } from '@loci/daemon/testing/records.ts'
import type { TestTenant } from '@loci/daemon/testing/tenant.ts'
import type { RotCell } from './rot-cell.ts'
import { type Issue, reportOf } from './rot-survey.ts'

export interface RecordRot {
  edits: number
  found: number
  served: string[]
  hidden: string[]
  missed: string[]
}

export interface SegmentRot {
  edits: number
  found: number
  /** Questions whose answer was not that of the rows. */
  wrong: string[]
  missed: string[]
  asked: number
}

const NAMES = ['one', 'two', 'three', 'four', 'five']
const AT = 'where instance_id = $1 and database = $2'
const TWO = `${AT} and body like '%lamp two%'`

/** Of the record `two`; `also`: what it costs beside it. */
export const RECORD_EDITS: { sql: string; also?: string[] }[] = [
  { sql: `update loci.records set body = replace(body, 'lamp two', 'lamp ten') ${TWO}` },
  { sql: `update loci.records set body = body || ' ' ${TWO}` },
  { sql: `update loci.records set body = '' ${TWO}` },
  { sql: `update loci.records set changed_seq = changed_seq + 1 ${TWO}` },
  { sql: `update loci.records set changed_seq = 9223372036854775807 ${TWO}` },
  { sql: `update loci.records set seq = seq + 1000 ${TWO}` },
  { sql: `update loci.records set id = 'mem_other' ${TWO}` },
  { sql: `update loci.records set key = 'other' ${TWO}` },
  { sql: `update loci.records set source_event_id = 'other' ${TWO}` },
  { sql: `update loci.records set context = context + 1 ${TWO}` },
  { sql: `update loci.records set position = position + 7 ${TWO}` },
  { sql: `update loci.records set value_mac = decode(md5('x'), 'hex') ${TWO}` },
  { sql: `update loci.records set created_at = created_at - interval '1 microsecond' ${TWO}` },
  { sql: `update loci.records set valid_from = '-infinity' ${TWO}` },
  { sql: `update loci.records set valid_to = now() ${TWO}` },
  { sql: `update loci.records set archived_at = now() ${TWO}` },
  { sql: `update loci.records set expires_at = now() - interval '1 year' ${TWO}` },
  { sql: `update loci.records set expires_at = 'infinity' ${TWO}` },
  { sql: `update loci.records set digest = set_bit(digest, 5, 1 - get_bit(digest, 5)) ${TWO}` },
  { sql: `update loci.records set digest = '' ${TWO}` },
  { sql: `update loci.records set database = database || '-elsewhere' ${TWO}` },
  {
    sql: `update loci.records set instance_id = (select min(id) from loci.instances where id <> $1) ${TWO}`,
  },
  {
    sql: `update loci.records r set body = o.body from loci.records o where r.instance_id = $1 and r.database = $2
      and o.instance_id = $1 and o.database = $2 and (r.body like '%lamp two%' and o.body like '%lamp three%'
      or r.body like '%lamp three%' and o.body like '%lamp two%')`,
    also: ['three'],
  },
  { sql: `delete from loci.records ${TWO}` },
  { sql: `delete from loci.records ${AT}`, also: NAMES },
]

/** Every second database has its records in a segment before it is damaged, the others in the tail. */
export async function rotRecords(cell: RotCell, edits: number): Promise<RecordRot> {
  const rot: RecordRot = { edits, found: 0, served: [], hidden: [], missed: [] }
  const tenant = cell.tenants[1] as TestTenant
  const stored: string[][] = []
  for (let n = 0; n < edits; n += 1) {
    const records = await memoryOf(tenant, `records-${n}`).storeAll(
      NAMES.map((name) => ({ content: contentOf(name, n) })),
    )
    stored.push(records.map(({ id }) => id))
  }
  await index(
    cell,
    tenant,
    stored.flatMap((_, n) => (n % 2 === 0 ? [`records-${n}`] : [])),
  )
  const editOf = (n: number) => RECORD_EDITS[n % RECORD_EDITS.length] as (typeof RECORD_EDITS)[number]
  for (let n = 0; n < edits; n += 1) await cell.sql(editOf(n).sql, [tenant.instanceId, `records-${n}`])
  const { issues } = await reportOf(tenant, tenant.mint(MEMORY_RIGHTS))
  for (let n = 0; n < edits; n += 1) {
    const database = `records-${n}`
    const line = `edit ${n % RECORD_EDITS.length}`
    if (isFoundIn(issues, database)) rot.found += 1
    else rot.missed.push(`${database}: ${line}`)
    const memory = memoryOf(tenant, database)
    const lost = ['two', ...(editOf(n).also ?? [])]
    const healthy = NAMES.filter((name) => !lost.includes(name)).map((name) => contentOf(name, n))
    const seen = {
      list: (await memory.list()).records.map(({ content }) => content),
      recall: await memory.contents({ query: 'which lamp is lit', limit: 50 }),
      get: await contentsOf(memory, stored[n] as string[]),
    }
    for (const [where, contents] of Object.entries(seen)) {
      for (const content of contents)
        if (!healthy.includes(content)) rot.served.push(`${database} ${where}: ${line}: ${content}`)
      for (const content of healthy)
        if (!contents.includes(content)) rot.hidden.push(`${database} ${where}: ${line}: ${content}`)
    }
  }
  return rot
}

function contentOf(name: string, n: number): string {
  return `The lamp ${name} of house ${n} is lit`
}

/** By id, of those that are answered. */
async function contentsOf(memory: TestMemory, ids: string[]): Promise<string[]> {
  const contents: string[] = []
  for (const id of ids) {
    const answer = await memory.get(id)
    if (answer.status === 200) contents.push(answer.json<{ content: string }>().content)
    else if (answer.status !== 404 && answer.error.code !== 'DATA_DAMAGED') contents.push(answer.text)
  }
  return contents
}

function isFoundIn(issues: (Issue & { domain?: string })[], database: string): boolean {
  return issues.some((issue) => issue.database === database && issue.domain === 'memory')
}

/** Of the only segment of a database. $3: another database, whose segment is as long. */
export const SEGMENT_EDITS: string[] = [
  `update loci.segments set body = set_byte(body, length(body) / 2, get_byte(body, length(body) / 2) # 1) ${AT}`,
  `update loci.segments set body = set_byte(body, 0, 255 - get_byte(body, 0)) ${AT}`,
  `update loci.segments set body = set_byte(body, length(body) - 1, 255 - get_byte(body, length(body) - 1)) ${AT}`,
  `update loci.segments set body = substr(body, 1, length(body) - 9) ${AT}`,
  `update loci.segments set body = body || body ${AT}`,
  `update loci.segments set body = '' ${AT}`,
  `update loci.segments set digest = set_bit(digest, 9, 1 - get_bit(digest, 9)) ${AT}`,
  `update loci.segments set digest = '' ${AT}`,
  `update loci.segments set items = items + 1 ${AT}`,
  `update loci.segments set from_seq = from_seq + 3 ${AT}`,
  `update loci.segments set through_seq = through_seq - 3 ${AT}`,
  `update loci.segments set through_seq = through_seq + 1000 ${AT}`,
  `update loci.segments s set body = o.body from loci.segments o where s.instance_id = $1 and s.database = $2
    and o.instance_id = $1 and o.database = $3`,
  `update loci.segments s set body = o.body, digest = o.digest, items = o.items, from_seq = o.from_seq,
    through_seq = o.through_seq from loci.segments o where s.instance_id = $1 and s.database = $2
    and o.instance_id = $1 and o.database = $3`,
  `update loci.segments set database = 'nowhere-' || $2 ${AT}`,
  `update loci.segments set instance_id = (select min(id) from loci.instances where id <> $1) ${AT}`,
  `delete from loci.segments ${AT}`,
]

const ITEMS = 30
const WORDS = ['garden', 'harbour', 'violin', 'copper', 'window', 'letter', 'winter']
const QUESTIONS = ['the violin in the garden', 'who wrote the letter of winter?', 'copper harbour 7', 'window 12']

/**
 * The answer with the damaged segment, which nothing has read before, and the answer with no segment at all. As of one
 * moment, so that nothing but the index could tell them apart.
 */
export async function rotSegments(cell: RotCell, edits: number): Promise<SegmentRot> {
  const rot: SegmentRot = { edits, found: 0, wrong: [], missed: [], asked: 0 }
  const tenant = cell.tenants[1] as TestTenant
  // The last is left as it is, and is what the others are mixed up with.
  const databases = Array.from({ length: edits + 1 }, (_, n) => `segments-${n}`)
  const whole = databases[edits] as string
  for (const [n, database] of databases.entries())
    await memoryOf(tenant, database).storeAll(
      Array.from({ length: ITEMS }, (_, at) => ({
        content: `The ${wordOf(at + n)} and the ${wordOf(at * 3 + n)} of day ${(at * 5 + n) % ITEMS}`,
        contextId: `talk ${(at + n) % 4}`,
      })),
    )
  await index(cell, tenant, databases)
  const asOf = new Date().toISOString()
  const editOf = (n: number) => SEGMENT_EDITS[n % SEGMENT_EDITS.length] as string
  for (const [n, database] of databases.slice(0, edits).entries()) {
    const values = [tenant.instanceId, database, ...(editOf(n).includes('$3') ? [whole] : [])]
    await cell.sql(editOf(n), values)
  }
  const { issues } = await reportOf(tenant, tenant.mint(MEMORY_RIGHTS))
  const answers = (database: string) =>
    Promise.all(
      QUESTIONS.map(async (query) => {
        // Whatever it scores: no answer of these is that there is none.
        const asked = { query, limit: 20, asOf, explain: true, minScore: -1_000 }
        const answer = await memoryOf(tenant, database).call('POST /v1/memory/recall', asked)
        return answer.status === 200 ? JSON.stringify(answer.json().results) : answer.text
      }),
    )
  for (const [n, database] of databases.entries()) {
    const isHealthy = database === whole
    if (isFoundIn(issues, database) === isHealthy) rot.missed.push(`${database}: edit ${n % SEGMENT_EDITS.length}`)
    else if (!isHealthy) rot.found += 1
    const indexed = await answers(database)
    await cell.sql(`delete from loci.segments ${AT}`, [tenant.instanceId, database])
    const rows = await answers(database)
    rot.asked += rows.length
    for (const [at, answer] of indexed.entries())
      if (answer !== rows[at] || !answer.startsWith('[{'))
        rot.wrong.push(`${database}: edit ${n % SEGMENT_EDITS.length}: ${QUESTIONS[at]}: ${answer.slice(0, 100)}`)
  }
  return rot
}

function wordOf(at: number): string {
  return WORDS[at % WORDS.length] as string
}

/** Has segments made of their tails, now. */
async function index(cell: RotCell, tenant: TestTenant, databases: string[]): Promise<void> {
  await cell.sql(
    `insert into loci.due (instance_id, database, kind, at) select $1, name, 'index', now() from unnest($2::text[]) name
     on conflict (instance_id, database, kind) do update set at = now()`,
    [tenant.instanceId, databases],
  )
  await eventually(async () => {
    const [row] = await cell.sql<{ made: number }>(
      `select count(distinct database)::int as made from loci.segments where instance_id = $1 and database = any ($2)`,
      [tenant.instanceId, databases],
    )
    return row?.made === databases.length
  })
}
