// Cycles of many databases, one damage each behind the daemon's back, and what its lists and reports say of them.

import type { Corruption, Cycle } from '@loci/contract/cognitive.ts'
import { cyclesOf, type TestCycles } from '@loci/daemon/testing/cycles.ts'
import type { TestTenant } from '@loci/daemon/testing/tenant.ts'
import { mapWidth } from '../world/report.ts'
import type { RotCell } from './rot-cell.ts'
import { type Issue, reportOf } from './rot-survey.ts'

/** Of a database with four cycles, $2 of the instance $1. `lost`: the cycles that are not to be believed after it. */
interface ChainEdit {
  sql: string
  lost: number[]
  reason?: Corruption['entries'][number]['reason']
}

const AT = 'where instance_id = $1 and database = $2'
const TWO = `${AT} and seq = 2`
const changed = (set: string): ChainEdit => ({
  ...{ sql: `update loci.cycles set ${set} ${TWO}`, lost: [2], reason: 'digest_mismatch' as const },
})
const rewritten = (seq: number): ChainEdit => ({
  // Whoever knows how the hash is made: the row fits it, and the row behind it, or the head, tells.
  sql: `update loci.cycles o set body = replace(o.body, '"completed"', '"forgotten"'), hash = loci.cycle_hash(jsonb_populate_record(o,
      jsonb_build_object('body', replace(o.body, '"completed"', '"forgotten"'))))
    where o.instance_id = $1 and o.database = $2 and o.seq = ${seq}`,
  ...{ lost: [seq], reason: 'chain_break' as const },
})
const swapped = (columns: string[]): ChainEdit => ({
  sql: `update loci.cycles c set ${columns.map((column) => `${column} = o.${column}`).join(', ')} from loci.cycles o
    where c.instance_id = $1 and c.database = $2 and o.instance_id = $1 and o.database = $2
      and (c.seq = 2 and o.seq = 3 or c.seq = 3 and o.seq = 2)`,
  ...{ lost: [2, 3], reason: 'digest_mismatch' as const },
})

const CHAIN_EDITS: ChainEdit[] = [
  changed(`body = replace(body, '"completed"', '"forgotten"')`),
  changed(`body = body || ' '`),
  changed(`body = ''`),
  changed(`id = 'cyc_00000000000000000000000000'`),
  changed(`started_at = started_at - interval '1 microsecond'`),
  changed(`completed_at = completed_at + interval '1 hour'`),
  changed(`completed_at = 'infinity'`),
  changed('duration_ms = duration_ms + 1'),
  changed(`focus = 'another'`),
  changed(`focus_salt = decode(md5('x'), 'hex')`),
  changed(`focus_hash = sha256('x')`),
  changed(`focus_mac = decode(md5('x'), 'hex')`),
  changed('focus = null'),
  changed(`metadata = '{"note":"another"}'`),
  changed(`metadata_salt = null`),
  changed('metadata_hash = null'),
  changed(`after_digest = sha256('x')`),
  changed(`decisions_hash = sha256('x')`),
  changed(`prev_hash = sha256('x')`),
  changed('prev_hash = null'),
  changed('hash = set_bit(hash, 5, 1 - get_bit(hash, 5))'),
  changed(`hash = ''`),
  swapped(['body', 'hash', 'prev_hash']),
  swapped(['body', 'started_at', 'completed_at', 'duration_ms', 'decisions_hash', 'after_digest', 'hash', 'prev_hash']),
  rewritten(2),
  rewritten(4),
  ...[1, 2, 4].map((seq) => ({
    ...{ sql: `delete from loci.cycles ${AT} and seq = ${seq}`, lost: [seq], reason: 'missing' as const },
  })),
  { sql: `update loci.cycles set database = database || '-elsewhere' ${TWO}`, lost: [2], reason: 'missing' },
]

const COLUMNS = [
  ...['id', 'started_at', 'completed_at', 'duration_ms', 'focus', 'focus_salt', 'focus_hash', 'focus_mac', 'metadata'],
  ...['metadata_salt', 'metadata_hash', 'after_digest', 'decisions_hash', 'body', 'prev_hash', 'hash'],
]
/** Two rows of the same name and number change their owners: $1 and $3. */
const OWNERS: ChainEdit = {
  sql: `update loci.cycles c set ${COLUMNS.map((column) => `${column} = o.${column}`).join(', ')} from loci.cycles o
    where c.database = $2 and o.database = $2 and c.seq = 2 and o.seq = 2
      and (c.instance_id = $1 and o.instance_id = $3 or c.instance_id = $3 and o.instance_id = $1)`,
  ...{ lost: [2], reason: 'digest_mismatch' },
}

export interface ChainRot {
  edits: number
  /** Said at once by the page that holds it, and found by ?mode=full. */
  told: number
  found: number
  served: string[]
  hidden: string[]
  wrong: string[]
}

const CYCLES = 4
const WIDTH = 4

/** `rounds` of every edit, each in a database of its own, which two tenants have under the same name. */
export async function rotChains(cell: RotCell, rounds: number, given: ChainEdit[] = CHAIN_EDITS): Promise<ChainRot> {
  const edits = Array.from({ length: rounds }, () => [...given, OWNERS]).flat()
  const [tenant, other] = [await cell.join({ databases: 10_000 }), await cell.join({ databases: 10_000 })]
  const rot: ChainRot = { edits: edits.length, told: 0, found: 0, served: [], hidden: [], wrong: [] }
  const ran = await mapWidth(edits, WIDTH, (edit, n) => fill(tenant, edit === OWNERS ? other : undefined, `chain-${n}`))
  for (const [n, edit] of edits.entries())
    await cell.sql(edit.sql, [tenant.instanceId, `chain-${n}`, ...(edit === OWNERS ? [other.instanceId] : [])])
  const issues = new Map([
    [tenant, (await reportOf(tenant, everything(tenant))).issues],
    [other, (await reportOf(other, everything(other))).issues],
  ])
  await mapWidth(edits, WIDTH, async (edit, n) => {
    const place = `chain-${n}: edit ${given.indexOf(edit)}`
    await judge(rot, { edit, place, cycles: cyclesOf(tenant, `chain-${n}`), ran: ran[n] as Cycle[] })
    if (isFoundIn(issues.get(tenant) ?? [], `chain-${n}`)) rot.found += 1
    else rot.wrong.push(`${place} not found`)
    if (edit === OWNERS && !isFoundIn(issues.get(other) ?? [], `chain-${n}`))
      rot.wrong.push(`${place} not at the other`)
  })
  return rot
}

function isFoundIn(issues: Issue[], database: string): boolean {
  return issues.some((issue) => issue.database === database)
}

function everything(tenant: TestTenant): string {
  return tenant.mint({ ops: ['system:read'], ks: ['cognitive/*'] })
}

async function fill(tenant: TestTenant, other: TestTenant | undefined, db: string): Promise<Cycle[]> {
  const ran: Cycle[] = []
  for (const owner of other ? [other, tenant] : [tenant]) {
    ran.length = 0
    const { run } = cyclesOf(owner, db)
    for (let n = 1; n <= CYCLES; n += 1) ran.push(await run({ focus: `the gauge ${n}`, metadata: { n } }))
  }
  return ran
}

interface Judged {
  edit: ChainEdit
  place: string
  cycles: TestCycles
  ran: Cycle[]
}

async function judge(rot: ChainRot, { edit, place, cycles, ran }: Judged): Promise<void> {
  const list = await cycles.get<{ cycles: Cycle[]; total: number; corruption: Corruption }>('/v1/cognitive/cycles')
  const entries = list.corruption.entries.map(({ seq }) => seq as number)
  if (list.corruption.detected && edit.lost.some((seq) => entries.includes(seq))) rot.told += 1
  else rot.wrong.push(`${place} not told`)
  const reasons = new Set(list.corruption.entries.map(({ reason }) => reason))
  if (edit.reason !== undefined && !reasons.has(edit.reason)) rot.wrong.push(`${place} told as ${[...reasons]}`)
  for (const seq of entries) if (!edit.lost.includes(seq)) rot.wrong.push(`${place} blames cycle ${seq}`)
  const healthy = ran.filter(({ seq }) => !edit.lost.includes(seq))
  const listed = new Map(list.cycles.map((cycle) => [cycle.seq, JSON.stringify(cycle)]))
  for (const [seq, text] of listed)
    if (!healthy.some((cycle) => JSON.stringify(cycle) === text)) rot.served.push(`${place} cycle ${seq}`)
  for (const cycle of healthy) if (!listed.has(cycle.seq)) rot.hidden.push(`${place} cycle ${cycle.seq}`)
  for (const { id, seq } of ran) {
    const answer = await cycles.call(`GET /v1/cognitive/cycles/${id}`)
    const isGood = answer.status === 200 && !edit.lost.includes(seq)
    const isDamaged = answer.status === 500 && answer.error.code === 'DATA_DAMAGED'
    const isLost = edit.lost.includes(seq) && (answer.status === 404 || isDamaged)
    if (!isGood && !isLost) rot.wrong.push(`${place} GET ${seq}: ${answer.status}`)
  }
  const { corruption } = await cycles.get<{ corruption: Corruption }>('/v1/cognitive/stats')
  if (!corruption.detected) rot.wrong.push(`${place} not in the statistics`)
}
