// A program fails closed at start: every broken or weak setting or database ends it with 78 and a reason that names it;
// what is merely not there yet (the database, its schema) is waited for.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { grantsSql, rolesSql } from '@loci/postgres/roles.ts'
import { databaseSql } from '@loci/postgres/testing/database-sql.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { type DatabaseCase, databaseCases } from '../robustness/broken-databases.ts'
import { type BrokenCase, brokenCases, SOUND_DIGEST, soundSettings } from '../robustness/broken-settings.ts'
import { launch } from '../world/launch.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, type ProgramName, runCommand, startProgram, untilReady } from '../world/process.ts'
import { mapWidth, type Report, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { prepareDatabase } from '../world/world.ts'

const WIDTH = 4
const STOP_MS_MAX = 3_000
/** Beyond one, two tries half a second apart. */
const READY_MS_MAX = 5_000

/** What Kubernetes puts into a pod beside Services called loci, loci-daemon and loci-management. */
const KUBERNETES = {
  LOCI_PORT: 'tcp://10.96.0.10:80',
  LOCI_SERVICE_HOST: '10.96.0.10',
  LOCI_SERVICE_PORT: '80',
  LOCI_SERVICE_PORT_HTTP: '80',
  LOCI_PORT_80_TCP: 'tcp://10.96.0.10:80',
  LOCI_PORT_80_TCP_PROTO: 'tcp',
  LOCI_PORT_80_TCP_PORT: '80',
  LOCI_PORT_80_TCP_ADDR: '10.96.0.10',
  LOCI_DAEMON_SERVICE_HOST: '10.96.0.11',
  LOCI_DAEMON_SERVICE_PORT_HTTP: '4410',
  LOCI_DAEMON_PORT: 'tcp://10.96.0.11:4410',
  LOCI_DAEMON_PORT_4410_TCP_ADDR: '10.96.0.11',
  LOCI_MANAGEMENT_PORT_4400_UDP: 'udp://10.96.0.12:4400',
}

const SETTINGS_MUTANTS: { name: string; edit: Edit; caughtBy: string }[] = [
  {
    name: 'unknown LOCI_* names are ignored',
    edit: {
      file: 'libs/chassis/config.ts',
      from: '  rejectUnknown(env, file, problems)\n',
      to: '  if (problems.length > 1e9) rejectUnknown(env, file, problems)\n',
    },
    caughtBy: 'LOCI_CONCURENCY_MAX=64',
  },
  {
    name: 'a proxy list that trusts everyone is accepted',
    edit: {
      file: 'libs/chassis/setting-values.ts',
      from: 'if (coversEveryone(entries))',
      to: 'if (entries.length > 1e9)',
    },
    caughtBy: 'LOCI_TRUSTED_PROXIES=0.0.0.0/0',
  },
  {
    name: 'a problem only warns',
    edit: {
      file: 'libs/chassis/program.ts',
      from: 'return EXIT.config\n  }\n  if (config.mode',
      to: '}\n  if (config.mode',
    },
    caughtBy: 'LOCI_LOG_LEVEL=verbose',
  },
]

await reportOn(async (report) => {
  const cases = brokenCases()
  await everyBrokenSetting(report, cases)
  await soundConfigurations(report)
  await mutantsOfSettings(report, cases)
  const postgres = await startThrowaway()
  try {
    // One after the other: both change the roles of the one server.
    await prepareDatabase(postgres, 'daemon')
    await prepareDatabase(postgres, 'management')
    await everyBrokenDatabase(report, postgres)
    await kubernetesDoesNotStopIt(report, postgres)
    await waitsForWhatIsNotThereYet(report, postgres)
  } finally {
    await postgres.remove()
  }
})

async function everyBrokenSetting(report: Report, cases: BrokenCase[]): Promise<void> {
  const complaints = await mapWidth(cases, WIDTH, (one) => complaintOf(one))
  for (const program of ['daemon', 'management'] as const) {
    const own = cases.map((one, i) => ({ one, complaint: complaints[i] })).filter(({ one }) => one.program === program)
    const bad = own.filter(({ complaint }) => complaint !== undefined)
    for (const { one, complaint } of bad) report.note(`${program} ${one.name}: ${complaint}`)
    report.promise(
      `${program}: a broken or weak setting ends it with 78 and its name`,
      bad.length === 0,
      `${own.length - bad.length} of ${own.length}`,
    )
  }
}

/** Undefined when it refused as it should. */
async function complaintOf(one: BrokenCase, root?: string): Promise<string | undefined> {
  const settings = Object.entries({ ...soundSettings(one.program), ...one.settings }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const outcome = await launch({
    ...(root ? { root } : {}),
    program: one.program,
    settings: Object.fromEntries(settings),
    ...(one.args ? { args: one.args } : {}),
  })
  return complaint(outcome, one.reasons)
}

function complaint(
  { code, stderr, hasStarted }: { code: number | null; stderr: string; hasStarted: boolean },
  reasons: RegExp[],
): string | undefined {
  if (hasStarted) return 'it started'
  const text = stderr.trim().split('\n').slice(0, 4).join(' | ').slice(0, 300)
  if (code !== 78) return `exit ${code}: ${text}`
  const missing = reasons.filter((reason) => !reason.test(stderr))
  return missing.length === 0 ? undefined : `78, but it does not say ${missing.join(' and ')}: ${text}`
}

async function soundConfigurations(report: Report): Promise<void> {
  const settings = soundSettings('daemon')
  const directory = mkdtempSync(join(tmpdir(), 'loci-boot-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const secretFile = join(directory, 'digest')
  const configFile = join(directory, 'config.json')
  writeFileSync(secretFile, `${SOUND_DIGEST}\n`)
  writeFileSync(configFile, JSON.stringify({ queue_max: 77, trusted_proxies: ['10.0.3.0/24'] }))
  const { LOCI_ADMIN_TOKEN_DIGESTS: _, ...rest } = settings
  const shown = await launch({
    program: 'daemon',
    args: ['--print-config', '--drain-ms=1234', '--config', configFile],
    settings: {
      ...rest,
      LOCI_DATABASE_URL: 'postgres://loci_daemon:pa55word@127.0.0.1/loci',
      LOCI_ADMIN_TOKEN_DIGESTS_FILE: secretFile,
    },
  })
  const lines = [
    /^LOCI_DRAIN_MS +1234 +\(flag\)$/m,
    /^LOCI_LISTEN +127\.0\.0\.1:0 +\(environment\)$/m,
    /^LOCI_ADMIN_TOKEN_DIGESTS +\S*[^\w\s]\S* +\(environment file\)$/m,
    /^LOCI_QUEUE_MAX +77 +\(configuration file\)$/m,
    /^LOCI_TRUSTED_PROXIES +10\.0\.3\.0\/24 +\(configuration file\)$/m,
    /^LOCI_LOG_LEVEL +info +\(default\)$/m,
    /^LOCI_TLS_KEY +- +\(not set\)$/m,
  ]
  const missing = lines.filter((line) => !line.test(shown.stdout))
  const leaks = ['pa55word', SOUND_DIGEST].filter((secret) => (shown.stdout + shown.stderr).includes(secret))
  report.promise(
    '--print-config shows sources and no secret',
    shown.code === 0 && missing.length === 0 && leaks.length === 0,
    `exit ${shown.code}, ${lines.length - missing.length} of ${lines.length} lines, ${leaks.length} secrets shown${missing.length > 0 ? `, missing ${missing.join(' ')}` : ''}`,
  )

  const [good, bad, kubernetes] = await Promise.all([
    launch({ program: 'daemon', args: ['--check-config'], settings }),
    launch({ program: 'daemon', args: ['--check-config'], settings: { ...settings, LOCI_LISTEN: 'x' } }),
    launch({
      program: 'management',
      args: ['--check-config'],
      settings: { ...soundSettings('management'), ...KUBERNETES },
    }),
  ])
  report.promise(
    '--check-config ends with 0 or 78',
    good.code === 0 && bad.code === 78 && kubernetes.code === 0,
    `sound ${good.code}, broken ${bad.code}, with Kubernetes' variables ${kubernetes.code}`,
  )
}

async function everyBrokenDatabase(report: Report, postgres: Throwaway): Promise<void> {
  const cases = databaseCases()
  const run = async (one: DatabaseCase, index: number, root?: string) => {
    const database = `case_${index}_${one.program}${root ? '_mutant' : ''}`
    await runSql(postgres.adminUrl(), `create database ${database} template ${templateOf(one.program)}`)
    await runSql(postgres.adminUrl(database), grantsSql({ database, program: one.program }))
    for (const text of one.breaks(database)) await runSql(postgres.adminUrl(database), text)
    try {
      const outcome = await launch({
        ...(root ? { root } : {}),
        program: one.program,
        settings: {
          ...soundSettings(one.program),
          LOCI_DATABASE_URL: postgres.url(one.role ?? `loci_${one.program}`, database),
        },
        startedWhen: /"to":"(ready|degraded)"/,
      })
      return complaint(outcome, one.reasons)
    } finally {
      for (const text of one.mends ?? []) await runSql(postgres.adminUrl(database), text)
    }
  }
  const local = cases.filter(({ mends }) => !mends)
  const whole = cases.filter(({ mends }) => mends)
  // What is set for the whole server would break the neighbours' cases too, so these go one by one.
  const complaints = [
    ...(await mapWidth(local, WIDTH, (one, i) => run(one, i))),
    ...(await mapWidth(whole, 1, (one, i) => run(one, local.length + i))),
  ]
  const bad = [...local, ...whole]
    .map((one, i) => ({ one, complaint: complaints[i] }))
    .filter(({ complaint }) => complaint !== undefined)
  for (const { one, complaint } of bad) report.note(`${one.program} ${one.name}: ${complaint}`)
  report.promise(
    'an unsafe, open or newer database ends it with 78 and the reason',
    bad.length === 0,
    `${cases.length - bad.length} of ${cases.length}`,
  )

  const fsync = whole.find(({ name, program }) => name === 'fsync=off' && program === 'daemon') as DatabaseCase
  await using mutant = await plantMutant([
    {
      file: 'libs/postgres/prepare.ts',
      from: 'if (audit.problems.length > 0)',
      to: 'if (audit.problems.length > 1e9)',
    },
  ])
  report.mutant('the audit of the database is not looked at', await run(fsync, 99, mutant.root))
}

function templateOf(program: ProgramName): string {
  return program === 'daemon' ? 'loci_cell' : 'loci_control'
}

async function mutantsOfSettings(report: Report, cases: BrokenCase[]): Promise<void> {
  await mapWidth(SETTINGS_MUTANTS, WIDTH, async ({ name, edit, caughtBy }) => {
    const one = cases.find((candidate) => candidate.name === caughtBy)
    if (!one) throw new Error(`there is no case '${caughtBy}'`)
    await using mutant = await plantMutant([edit])
    report.mutant(name, await complaintOf(one, mutant.root))
  })
}

async function kubernetesDoesNotStopIt(report: Report, postgres: Throwaway): Promise<void> {
  const states = await Promise.all(
    (['daemon', 'management'] as const).map(async (program) => {
      const settings = {
        ...soundSettings(program),
        LOCI_DATABASE_URL: postgres.url(`loci_${program}`, templateOf(program)),
      }
      const process = await startProgram(program, { ...settings, ...KUBERNETES })
      await untilReady(process.url)
      await process.stop()
      return program
    }),
  )
  report.promise(
    "Kubernetes' link variables do not stop it",
    states.length === 2,
    `${states.join(' and ')} became ready`,
  )
}

async function waitsForWhatIsNotThereYet(report: Report, postgres: Throwaway): Promise<void> {
  const database = 'not_migrated'
  await runSql(postgres.adminUrl(), databaseSql(database))
  await runSql(postgres.adminUrl(database), rolesSql({ database, program: 'daemon' }))
  const settings = (program: ProgramName, name: string) => ({
    ...soundSettings(program),
    LOCI_DATABASE_URL: postgres.url(`loci_${program}`, name),
    LOCI_DRAIN_GRACE_MS: '200',
  })
  const start = (program: ProgramName, name: string) => startProgram(program, settings(program, name))

  // The schema is not there yet.
  const [patient, impatient] = await Promise.all([start('daemon', database), start('daemon', database)])
  await sleep(1_200)
  const early = await probe(patient)
  const stopMs = await stopTime(impatient)
  await runCommand('daemon', ['migrate'], { LOCI_DATABASE_OWNER_URL: postgres.url('loci_daemon_owner', database) })
  const migratedMs = await readyTime(patient)
  await patient.stop()
  let ready = await report.within(READY_MS_MAX)
  report.promise(
    'an old schema is waited for',
    early.is === '503 starting, migrating' && migratedMs <= ready.ms,
    `before: ${early.is}; ready ${migratedMs} ms after migrate (${ready.text})`,
  )

  // The server is down, and one that accepts and says nothing.
  await postgres.stop()
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const { port } = silent.address() as { port: number }
  const [daemon, management, impatientDown, impatientSilent] = await Promise.all([
    start('daemon', 'loci_cell'),
    start('management', 'loci_control'),
    start('management', 'loci_control'),
    startProgram('daemon', {
      ...settings('daemon', 'loci_cell'),
      LOCI_DATABASE_URL: `postgres://loci_daemon@127.0.0.1:${port}/loci_cell`,
    }),
  ])
  await sleep(1_200)
  const down = [await probe(daemon), await probe(management)]
  const stopDownMs = await stopTime(impatientDown)
  const stopSilentMs = await stopTime(impatientSilent)
  silent.close()
  await postgres.start()
  const readyMs = await Promise.all([readyTime(daemon), readyTime(management)])
  await Promise.all([daemon.stop(), management.stop()])
  ready = await report.within(READY_MS_MAX)
  report.promise(
    'a Postgres that is down is waited for',
    down.every(({ is }) => is === '503 starting, migrating') && readyMs.every((ms) => ms <= ready.ms),
    `before: ${[...new Set(down.map(({ is }) => is))].join(' / ')}; ready ${Math.max(...readyMs)} ms after it came up (${ready.text})`,
  )
  const stopped = await report.within(STOP_MS_MAX)
  report.promise(
    'SIGTERM while waiting ends it with 0 at once',
    [stopMs, stopDownMs, stopSilentMs].every((ms) => ms <= stopped.ms),
    `old schema ${stopMs} ms, Postgres down ${stopDownMs} ms, Postgres silent ${stopSilentMs} ms (${stopped.text}; infinite = another code)`,
  )
}

async function probe({ url }: LociProcess): Promise<{ is: string }> {
  const ready = await fetch(`${url}/health/ready`)
  const { status } = (await ready.json()) as { status: string }
  const answers = await Promise.all(['/v1/lifecycle/status', '/health/lifecycle'].map((path) => fetch(url + path)))
  const told = answers.find(({ ok }) => ok)
  const { state } = told ? ((await told.json()) as { state: string }) : { state: 'unknown' }
  return { is: `${ready.status} ${status}, ${state}` }
}

/** Milliseconds from SIGTERM to an end with 0. */
async function stopTime(process: LociProcess): Promise<number> {
  const startedAt = performance.now()
  await process.stop()
  const { code } = await process.exited
  return code === 0 ? Math.round(performance.now() - startedAt) : Number.POSITIVE_INFINITY
}

async function readyTime({ url }: LociProcess): Promise<number> {
  const startedAt = performance.now()
  await untilReady(url)
  return Math.round(performance.now() - startedAt)
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
