// Backup and restore with pgBackRest as docs/operations/backups.md says it, of a cell and of the control database,
// while writers go on: back at a moment, everything acknowledged before it is there and nothing after it, and what was
// deleted after it is not served again for a moment. And one instance alone, from a copy beside the living cell.

import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ask } from '@loci/chassis/testing/request.ts'
import { runHere } from '@loci/cli/testing/host.ts'
import { databaseSql } from '@loci/postgres/testing/database-sql.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import {
  deleted,
  partyOf,
  SERVES_MS_MAX,
  sleep,
  stored,
  untilServed,
  type Watch,
  watching,
  writing,
} from '../robustness/backup/load.ts'
import { type Cell, oneComesBack } from '../robustness/backup/one-instance.ts'
import { ARCHIVING, type Backups, backupsOf } from '../robustness/backup/pgbackrest.ts'
import { consistencyOf, figures, storedEntries } from '../robustness/kv-tables.ts'
import { seedOfRun } from '../robustness/seeded.ts'
import { twoServers } from '../robustness/two-servers.ts'
import { plantMutant } from '../world/mutant.ts'
import { untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addOrganization, addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const SEED = seedOfRun()
const ACKED_MIN = isShort ? 1_000 : 20_000
/** What PROMISES.md asks of P24. */
const POINT_MS_MAX = 60_000
const PAGE = readFileSync(new URL('../../docs/operations/backups.md', import.meta.url), 'utf8')

await reportOn(async (report) => {
  if ((await promisify(execFile)('pgbackrest', ['version']).catch(() => undefined)) === undefined)
    return report.skip('backup', 'pgbackrest is not installed')
  report.note(`seed ${SEED}; again: npm run test:system -- backup --seed=${SEED}`)
  const directory = mkdtempSync(join(tmpdir(), 'loci-backup-'))
  chmodSync(directory, 0o755)
  const cell = await startThrowaway({ settings: ARCHIVING })
  const control = await startThrowaway({ settings: ARCHIVING })
  await runSql(control.adminUrl(), databaseSql('loci_control'))
  const world = await startWorld({ asShipped: true, replicas: 2, postgres: twoServers(cell, control) })
  try {
    const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise' })
    const said: string[] = []
    const asked = async (server: Throwaway, backups: Backups) => said.push(await checked(server, backups, directory))
    const backups = await begun(cell, 'cell-1', directory)
    await asked(cell, backups)
    await cellComesBack(report, world, { tenant, cell, backups })
    await oneComesBack(report, world, { tenant, cell, backups }, { directory, least: ACKED_MIN, seed: SEED })
    const controls = await begun(control, 'control', directory)
    await controlComesBack(report, world, control, controls)
    await asked(control, controls)
    await backups.run('--type=full', 'backup')
    await asked(cell, backups)
    await backups.archive('/bin/true')
    await asked(cell, backups)
    await withoutArchive(report, world, { tenant, cell, backups })
    const good = '0: archiving ok, archived ok, checksums ok, ledger ok, backups ok'
    report.promise(
      'loci backup check sees a missing backup and an archive that keeps nothing, and is content with the rest',
      said.join(' | ') ===
        [
          good.replace('0:', '1:').replace('backups ok', 'backups fail'),
          good,
          good,
          good.replace('0:', '1:').replace('archiving ok', 'archiving fail'),
        ].join(' | '),
      said.join(' | '),
    )
    report.promise(
      'every pgbackrest command of the page was run',
      commandsOf(PAGE).every((line) => ran(backups, line)),
      commandsOf(PAGE)
        .map((line) => `${ran(backups, line) ? '' : 'not run: '}${line}`)
        .join('; '),
    )
  } finally {
    await world.stop()
    rmSync(directory, { recursive: true, force: true })
  }
})

/** What each check of `loci backup check` found. */
async function checked(server: Throwaway, { stanza, config }: Backups, directory: string): Promise<string> {
  const database = stanza === 'control' ? 'loci_control' : 'loci_cell'
  writeFileSync(join(directory, `${stanza}-url`), server.adminUrl(database), { mode: 0o600 })
  const words = ['--database-url-file', `${stanza}-url`, '--stanza', stanza, '--pgbackrest-config', config, '--json']
  const { document, code } = await runHere<{ checks: { name: string; status: string }[] }>(
    ['backup', 'check', ...words],
    { home: directory, env: { PATH: process.env.PATH } },
  )
  return `${code}: ${document.data.checks.map(({ name, status }) => `${name} ${status}`).join(', ')}`
}

async function begun(server: Throwaway, stanza: string, directory: string): Promise<Backups> {
  const backups = backupsOf(server, stanza, directory)
  await backups.run('stanza-create')
  await backups.archive()
  await backups.run('check')
  await backups.run('info')
  return backups
}

async function cellComesBack(report: Report, world: World, { tenant, cell, backups }: Cell): Promise<void> {
  const party = partyOf(tenant)
  const before = writing(world, party, 'before', SEED)
  await before.until(ACKED_MIN)
  const startedAt = performance.now()
  await backups.run('--type=full', 'backup')
  const backupMs = Math.round(performance.now() - startedAt)
  await before.until(ACKED_MIN)
  await backups.run('--type=incr', 'backup')
  const { id } = await stored(world, tenant)
  await before.until(ACKED_MIN)
  await before.writers.stop()
  const [{ at }] = (await runSql<{ at: string }>(cell.adminUrl(), 'select clock_timestamp()::text as at')) as [
    { at: string },
  ]

  const after = writing(world, party, 'after', SEED)
  await after.until(ACKED_MIN)
  await deleted(world, tenant, id)
  await after.until(100)
  await after.writers.stop()
  const pointMs = await backups.untilArchived()
  report.promise(
    'what was written is in the repository within a minute, without anybody asking',
    pointMs <= POINT_MS_MAX,
    `${pointMs} ms (at most ${POINT_MS_MAX}); full backup of ${await sizeOf(cell)} MB under load in ${backupMs} ms`,
  )
  const megabytes = await sizeOf(cell)
  // It does not ask whether its server is still being restored.
  await using mutant = await plantMutant([
    { file: 'daemon/access/store.ts', from: '  await requirePrimary(query)\n', to: '' },
  ])
  const liar = await mutant.startProgram('daemon', world.daemonSettings())
  await untilReady(liar.url)
  await cell.crash()
  const [watch, watchLiar] = [world.daemons.map(({ url }) => url), [liar.url]].map((urls) => watching(urls, tenant))
  // Stopped at the moment, as by somebody who looks whether it is the right one: it can be read, and is not over.
  const restoreMs = await backups.restore('--type=time', `--target=${at}`, '--target-action=pause')
  const asked = (watch as Watch).counts.asked + (isShort ? 40 : 200)
  while ((watch as Watch).counts.asked < asked || (watchLiar as Watch).counts.asked < asked) await sleep(50)
  await runSql(cell.adminUrl(), 'select pg_wal_replay_resume()')
  const servesMs = await untilServed(world, tenant)
  const [served, lied] = await Promise.all([watch, watchLiar].map((one) => (one as Watch).stop()))
  await liar.stop()
  report.mutant(
    'a daemon that serves from a server that is being restored',
    (lied?.found ?? 0) > 0 ? `it showed what was deleted ${lied?.found} times` : undefined,
  )
  const rows = await storedEntries(world.postgres, 'before')
  const verdict = before.ledger.verify(rows)
  const late = (await storedEntries(world.postgres, 'after')).size
  report.note(figures(before.ledger))
  report.promise(
    'a cell comes back as it was at a moment: everything acknowledged before it, nothing after it',
    verdict.lost.length + verdict.tookEffect.length + verdict.strangers.length + late === 0 &&
      before.ledger.acked >= ACKED_MIN,
    `${verdict.lost.length} lost of ${before.ledger.acked}, ${late} of ${after.ledger.acked} after it are there`,
  )
  report.promise(
    'what was deleted after that moment is not served again, not for a moment',
    served?.found === 0 && served.held > 0,
    `found ${served?.found} times in ${served?.asked} questions, ${served?.held} of them answered 503 while it was restored and the ledger replayed`,
  )
  const states = await Promise.all(world.daemons.map(({ url }) => consistencyOf(url, party.token)))
  report.promise(
    'digests, counters and sums hold',
    states.every((state) => state === 'consistent'),
    states.join(', '),
  )
  const tenGb = Math.round((restoreMs * 10_240) / megabytes / 60_000)
  report.note(
    `${megabytes} MB came back in ${restoreMs} ms and were served ${servesMs} ms later; 10 GB at that pace: about ${tenGb} min (calculated)`,
  )
}

/** The control plane: whoever was made after the moment is unknown, and the cells follow the new epoch. */
async function controlComesBack(report: Report, world: World, control: Throwaway, backups: Backups): Promise<void> {
  await backups.run('--type=full', 'backup')
  const known = await addOrganization(world, 'before-the-moment')
  const [{ at }] = (await runSql<{ at: string }>(control.adminUrl(), 'select clock_timestamp()::text as at')) as [
    { at: string },
  ]
  const forgotten = await addOrganization(world, 'after-the-moment')
  await backups.untilArchived()
  const epoch = await epochOf(world)
  await control.crash()
  const ms = await backups.restore('--type=time', `--target=${at}`, '--target-action=promote')
  const asked = (key: string) =>
    ask(world.management?.url as string, 'GET /api/v1/services', { headers: { 'x-api-key': key } })
  const statuses: number[] = []
  for (const { apiKey } of [known, forgotten]) {
    let status = 503
    for (const until = performance.now() + SERVES_MS_MAX; status === 503 && performance.now() < until; await sleep(100))
      status = (await asked(apiKey)).status
    statuses.push(status)
  }
  for (const until = performance.now() + SERVES_MS_MAX; (await epochOf(world)) === epoch && performance.now() < until; )
    await sleep(100)
  const other = await addTenant(world, { name: 'made-afterwards', plan: 'pro' })
  await untilServed(world, other)
  report.promise(
    'the control database comes back at a moment, cells read everything again, and new services reach them',
    statuses[0] === 200 && statuses[1] === 401 && (await epochOf(world)) !== epoch,
    `${statuses.join(', ')} for an organization before and after it; back in ${ms} ms`,
  )
}

/** Nothing reaches the repository any more: the moment cannot be had. */
async function withoutArchive(report: Report, world: World, { tenant, cell, backups }: Cell): Promise<void> {
  const lost = writing(world, partyOf(tenant), 'lost', SEED)
  await lost.until(500)
  await lost.writers.stop()
  await runSql(cell.adminUrl(), 'select pg_switch_wal()')
  const [{ at }] = (await runSql<{ at: string }>(cell.adminUrl(), 'select clock_timestamp()::text as at')) as [
    { at: string },
  ]
  await cell.crash()
  const words = ['--type=time', `--target=${at}`, '--target-action=promote']
  let how: string | undefined
  try {
    await backups.restore(...words)
    const verdict = lost.ledger.verify(await storedEntries(world.postgres, 'lost'))
    if (verdict.lost.length > 0) how = `${verdict.lost.length} lost of ${lost.ledger.acked}`
  } catch (error) {
    // Sooner or later PostgreSQL says that the recovery ended before the moment, and ends.
    how = `the cell does not come back: ${(error as Error).message.split('\n')[0]}`
  }
  report.mutant('WAL that is not archived', how)
}

/** Without the stanza and the values of options. */
function commandsOf(page: string): string[] {
  return [...page.matchAll(/^ {4}pgbackrest --stanza=\S+ (.+)$/gm)].map(([, words = '']) => plain(words))
}

function plain(words: string): string {
  return words
    .replaceAll(/(--target)='?[^-']*[^']*'?(?= --)/g, '$1')
    .replaceAll(/(--target-action|--pg1-path)=\S+/g, '$1')
}

function ran({ ran: lines }: Backups, line: string): boolean {
  return lines.map(plain).includes(line)
}

async function epochOf(world: World): Promise<string> {
  const [row] = await runSql<{ epoch: string }>(
    world.postgres.adminUrl('loci_cell'),
    'select feed_epoch as epoch from loci.cell',
  )
  return row?.epoch as string
}

async function sizeOf(server: Throwaway): Promise<number> {
  const { stdout } = await promisify(execFile)('du', ['-sm', server.dataDirectory])
  return Number.parseInt(stdout, 10)
}
