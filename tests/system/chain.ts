// A cycle that was edited, deleted, exchanged or moved to another owner is told by the page that holds it, found by
// ?mode=full, and hides no other; content that was erased and cycles that were pruned leave the chain whole.

import { eventually } from '@loci/chassis/testing/request.ts'
import type { Corruption, Cycle } from '@loci/contract/cognitive.ts'
import { cyclesOf } from '@loci/daemon/testing/cycles.ts'
import { rotChains } from '../robustness/chain-edits.ts'
import { type RotCell, startRotCell } from '../robustness/rot-cell.ts'
import { reportOf } from '../robustness/rot-survey.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'

const isShort = process.argv.includes('--short')
const ROUNDS = isShort ? 1 : 10
const CLEAN = isShort ? 10 : 50
const HISTORY = 10
const PRUNED_CYCLES = isShort ? 130 : 1_300

await reportOn(async (report) => {
  const cell = await startRotCell({ dataChecksums: true, rowsPerDatabase: 1 })
  try {
    await edits(report, cell)
    await untouched(report, cell)
    await pruned(report, cell)
  } finally {
    await cell.close()
  }
  await caught(report, 'the digest without the instance', {
    file: 'daemon/cycles/functions.sql',
    from: `select sha256(textsend(c.instance_id || E'\\x1f' || c.database || E'\\x1f' || c.id || E'\\x1f') || int8send(c.seq)`,
    to: `select sha256(textsend(c.database || E'\\x1f' || c.id || E'\\x1f') || int8send(c.seq)`,
  })
  await caught(report, 'the hash without the one before', {
    file: 'daemon/cycles/functions.sql',
    from: `    || coalesce('\\x01'::bytea || c.prev_hash, '\\x00'::bytea) || textsend(c.body))`,
    to: '    || textsend(c.body))',
  })
})

async function edits(report: Report, cell: RotCell): Promise<void> {
  const { edits: done, told, found, served, hidden, wrong } = await rotChains(cell, ROUNDS)
  for (const line of [...served, ...hidden, ...wrong].slice(0, 20)) report.note(line)
  report.promise(
    'every edit, deletion, exchange and change of owner of a cycle is told by its page and found by ?mode=full',
    told === done && found === done && served.length + hidden.length + wrong.length === 0,
    `${done} edits: ${told} told at once, ${found} found, ${served.length} served as truth, ${hidden.length} healthy ones hidden, ${wrong.length} wrong`,
  )
}

/** Databases that nobody damaged, half of them with erased content: it, its salt, and its bytes in the head. */
async function untouched(report: Report, cell: RotCell): Promise<void> {
  const tenant = await cell.join({ databases: 1_000 })
  const names = Array.from({ length: CLEAN }, (_, n) => `clean-${n}`)
  await mapWidth(names, 4, async (db) => {
    const { run } = cyclesOf(tenant, db)
    for (let n = 0; n < 4; n += 1) await run({ focus: `the gauge ${n}`, metadata: { n } })
  })
  await cell.sql(
    `update loci.cycles set focus = null, focus_salt = null, focus_mac = null, metadata = null, metadata_salt = null
     where instance_id = $1 and database = any($2) and seq = 2`,
    [tenant.instanceId, names.filter((_, n) => n % 2 === 0)],
  )
  await cell.sql(
    `update loci.databases h set cyc_bytes = (select sum(loci.cycle_bytes(c)) from loci.cycles c
       where c.instance_id = h.instance_id and c.database = h.name) where h.instance_id = $1`,
    [tenant.instanceId],
  )
  const lists = await mapWidth(names, 8, (db) =>
    cyclesOf(tenant, db).get<{ cycles: Cycle[]; corruption: Corruption }>('/v1/cognitive/cycles'),
  )
  const { status, issues } = await reportOf(tenant, tenant.mint({ ops: ['system:read'], ks: ['cognitive/*'] }))
  const alarms = lists.filter(({ corruption }) => corruption.status !== 'clean').length
  const redacted = lists.filter(({ cycles }) => cycles[2]?.redacted === true && cycles[2].focus === null).length
  report.promise(
    'nothing is said of what nobody damaged, and erased content leaves the chain whole',
    alarms === 0 && status === 'consistent' && issues.length === 0 && redacted === names.length / 2,
    `${alarms} false alarms in ${CLEAN} databases, ${redacted} with erased content, report ${status}`,
  )
}

async function pruned(report: Report, cell: RotCell): Promise<void> {
  const tenant = await cell.join({})
  const { run, get, operator } = cyclesOf(tenant, 'pruned')
  await operator('PUT /v1/cognitive/config', { cycleHistory: HISTORY })
  for (let n = 0; n < PRUNED_CYCLES; n += 1) await run()
  const kept = async () =>
    (await cell.sql('select from loci.cycles where instance_id = $1', [tenant.instanceId])).length
  // By the clock of the worker of due rows; pruning begins at a hundred too many.
  await eventually(async () => (await kept()) <= HISTORY + 100)
  const list = await get<{ cycles: Cycle[]; total: number; corruption: Corruption; nextCursor: string | null }>(
    '/v1/cognitive/cycles?limit=1000',
  )
  const stats = await get<{ totalCycles: number; averageDurationMs: number }>('/v1/cognitive/stats')
  const { status } = await reportOf(tenant, tenant.mint({ ops: ['system:read'], ks: ['cognitive/*'] }))
  report.promise(
    'a pruned range verifies from its checkpoint, and the totals include it',
    list.total === PRUNED_CYCLES &&
      stats.totalCycles === PRUNED_CYCLES &&
      list.corruption.status === 'clean' &&
      list.corruption.checkedThroughSeq === PRUNED_CYCLES &&
      list.nextCursor === null &&
      status === 'consistent',
    `${list.cycles.length} of ${list.total} kept, ${list.corruption.status}, report ${status}`,
  )
}

async function caught(report: Report, name: string, edit: Edit): Promise<void> {
  await using mutant = await plantMutant([edit])
  const cell = await startRotCell({
    ...{ dataChecksums: true, rowsPerDatabase: 1, root: mutant.root, start: mutant.startProgram },
  })
  try {
    const { served, hidden, wrong } = await rotChains(cell, 1)
    report.mutant(name, [...served, ...hidden, ...wrong][0])
  } finally {
    await cell.close()
  }
}
