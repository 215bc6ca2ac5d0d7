// The units that `loci setup` writes, under a real systemd (a container of systemd-nspawn): they start when they
// say so, come back after kill -9, after their event loop stood still, and after a boot; they end in order; a
// wrong setting is not tried again; and a program can neither read the folder of secrets nor write anything. Not
// in CI: it needs a machine whose root may boot a container.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { eventually } from '@loci/chassis/testing/request.ts'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { bootMachine, type Machine } from '../robustness/units/machine.ts'
import { commandLine, installPacked, SUPERUSER } from '../world/packed.ts'
import { type Report, reportOn } from '../world/report.ts'

const UNITS = ['loci-management.service', 'loci-daemon.service'] as const
const [MANAGEMENT, DAEMON] = UNITS
const READY_MS_MAX = 60_000
const WATCHDOG_S = 6
const EXIT_CONFIG = '78'

await reportOn(async (report) => {
  // Not below /tmp, of which each unit has its own.
  const place = mkdtempSync('/var/lib/loci-units-')
  // Programs are for everybody; what is secret has a folder of its own.
  chmodSync(place, 0o755)
  await using postgres = await startThrowaway()
  let machine: Machine | undefined
  try {
    const booted = await bootMachine(place)
    if ('missing' in booted) return report.skip('the units under systemd', booted.missing)
    machine = booted
    report.note(booted.run('systemctl', '--version').text.split('\n')[0] as string)
    // A socket of this machine's /dev/shm is not seen in there.
    const set = await setUp(place, postgres.url('postgres', 'postgres', 'tcp'))
    await starts(report, machine, set)
    await keepsToItself(report, machine, set)
    await comesBack(report, machine, set)
    await watched(report, machine, set)
    await refuses(report, machine, set)
    await machine.stop()
    machine = (await bootMachine(place)) as Machine
    await areReady(set)
    report.promise(
      'after a boot both serve without a hand',
      isActive(machine),
      UNITS.map((unit) => `${unit} active`).join(),
    )
    ends(report, machine)
  } catch (error) {
    for (const unit of UNITS) report.note(journalOf(machine, unit).slice(-3_000))
    throw error
  } finally {
    await machine?.stop()
    rmSync(place, { recursive: true, force: true })
  }
})

interface SetUp {
  etc: string
  paths: string[]
  urls: string[]
  dropIns: string
}

async function setUp(place: string, adminUrl: string): Promise<SetUp> {
  const installed = installPacked(place)
  const loci = commandLine(place, installed, { user: SUPERUSER })
  const etc = path.join(place, 'etc')
  writeFileSync(path.join(place, 'admin-url'), adminUrl, { mode: 0o600 })
  const urls = [`http://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`]
  const [url, cellUrl] = urls as [string, string]
  const { code, stdout, stderr } = await loci([
    ...['setup', '--json', '--directory', etc, '--database-url-file', path.join(place, 'admin-url')],
    ...['--owner-email', 'ada@example.com', '--public-url', url, '--cell-url', cellUrl],
    ...['--listen', new URL(url).host, '--cell-listen', new URL(cellUrl).host],
  ])
  if (code !== 0) throw new Error(`loci setup ended with ${code}: ${stderr}${stdout}`)
  const paths = (JSON.parse(stdout) as { data: { units: string[] } }).data.units
  return { etc, paths, urls, dropIns: path.join(place, 'systemd-system', `${DAEMON}.d`) }
}

/** Without the probes that wait for it. */
function journalOf(machine: Machine | undefined, unit: string): string {
  const { text } = machine?.run('journalctl', '--no-pager', '-o', 'cat', '-u', unit) ?? { text: '' }
  return text
    .split('\n')
    .filter((line) => !line.includes('/health/ready'))
    .join('\n')
}

function isActive(machine: Machine): boolean {
  return UNITS.every((unit) => machine.show(unit, 'ActiveState') === 'active')
}

function areReady({ urls }: SetUp): Promise<unknown> {
  const isReady = async (url: string) => (await fetch(`${url}/health/ready`).catch(() => undefined))?.status === 200
  return eventually(async () => (await Promise.all(urls.map(isReady))).every(Boolean), READY_MS_MAX)
}

async function starts(report: Report, machine: Machine, set: SetUp): Promise<void> {
  const { code, text } = machine.systemctl('enable', '--now', ...set.paths)
  const exposed = machine.run(
    'systemd-analyze',
    'verify',
    ...set.paths.map((file) => path.join('/etc/systemd/system', path.basename(file))),
  )
  const log = journalOf(machine, MANAGEMENT).slice(-1_000)
  report.promise(
    'systemctl enable --now starts both, and answers when they listen',
    code === 0 && isActive(machine),
    `exit ${code}${code === 0 ? '' : ` ${text} ${log}`}`,
  )
  report.promise(
    'systemd-analyze verify has nothing to say of them there',
    exposed.text.trim() === '',
    exposed.text.trim() || 'clean',
  )
  await areReady(set)
  await eventually(() => machine.show(DAEMON, 'StatusText').startsWith('ready'), READY_MS_MAX)
  const status = UNITS.map((unit) => machine.show(unit, 'StatusText'))
  report.promise(
    'systemctl status says what they do',
    status.every((one) => one.startsWith('ready: ')),
    status.join('; '),
  )
}

/** Commands run as the user that systemd made, in the mounts of the unit. */
async function keepsToItself(report: Report, machine: Machine, { etc }: SetUp): Promise<void> {
  const pid = machine.show(DAEMON, 'MainPID')
  const uid = machine.run('stat', '-c', '%u', `/proc/${pid}`).text.trim()
  const as = (...command: string[]) =>
    machine.run(
      'nsenter',
      '-t',
      pid,
      '-m',
      '--',
      'setpriv',
      '--reuid',
      uid,
      '--regid',
      uid,
      '--clear-groups',
      ...command,
    )
  const read = as('cat', path.join(etc, 'api-key'))
  const written = ['/usr/x', '/etc/x', '/var/lib/x', '/x'].filter((file) => as('touch', file).code === 0)
  const environ = machine.run('cat', `/proc/${pid}/environ`).text
  report.promise(
    'a daemon has a user of its own, reads no secret of the folder, and writes nowhere but its cache',
    Number(uid) >= 61_184 && read.code !== 0 && written.length === 0 && !/loci_sk_|loci_adm_/.test(environ),
    `uid ${uid}; ${read.text.trim().split(': ').at(-1)}; ${written.length} of 4 places written`,
  )
}

async function comesBack(report: Report, machine: Machine, set: SetUp): Promise<void> {
  const before = machine.show(DAEMON, 'MainPID')
  machine.systemctl('kill', '--kill-whom=main', '--signal=KILL', DAEMON)
  await eventually(() => ![before, '0'].includes(machine.show(DAEMON, 'MainPID')), READY_MS_MAX)
  await areReady(set)
  const restarts = machine.show(DAEMON, 'NRestarts')
  report.promise('after kill -9 it is there again', restarts === '1', `${restarts} restart`)
}

async function watched(report: Report, machine: Machine, set: SetUp): Promise<void> {
  const standStill = async (section: string) => {
    dropIn(machine, set, section)
    machine.systemctl('restart', DAEMON)
    await areReady(set)
    const before = machine.show(DAEMON, 'MainPID')
    machine.systemctl('kill', '--kill-whom=main', '--signal=STOP', DAEMON)
    const isOther = () => ![before, '0'].includes(machine.show(DAEMON, 'MainPID'))
    const isBack = await eventually(isOther, 5 * WATCHDOG_S * 1_000).then(
      () => true,
      () => false,
    )
    machine.systemctl('kill', '--kill-whom=main', '--signal=CONT', DAEMON)
    return isBack
  }
  const survived = await standStill(`[Service]\nType=exec\nWatchdogSec=0`)
  const isBack = await standStill(`[Service]\nWatchdogSec=${WATCHDOG_S}`)
  await areReady(set)
  report.promise(`an event loop that stands still for ${WATCHDOG_S} s is ended, and begins anew`, isBack, `${isBack}`)
  report.mutant('a unit without a watchdog', survived ? undefined : `stopped after ${5 * WATCHDOG_S} s as before`)
  // It says its word in time: three times that long without a restart.
  const restarts = machine.show(DAEMON, 'NRestarts')
  await new Promise((resolve) => setTimeout(resolve, 3 * WATCHDOG_S * 1_000))
  const after = machine.show(DAEMON, 'NRestarts')
  report.promise('one that turns is left alone', after === restarts, `${restarts}, ${after} restarts`)
}

async function refuses(report: Report, machine: Machine, set: SetUp): Promise<void> {
  dropIn(machine, set, '[Service]\nEnvironment=LOCI_LISTEN=nowhere')
  machine.systemctl('reset-failed', DAEMON)
  const { code } = machine.systemctl('restart', DAEMON)
  await eventually(() => machine.show(DAEMON, 'ActiveState') === 'failed', READY_MS_MAX)
  const [status, restarts] = [machine.show(DAEMON, 'ExecMainStatus'), machine.show(DAEMON, 'NRestarts')]
  const said = journalOf(machine, DAEMON)
  report.promise(
    'a wrong setting fails the start at once, is named in the journal, and is not tried again',
    code !== 0 && status === EXIT_CONFIG && restarts === '0' && said.includes('LOCI_LISTEN'),
    `systemctl ${code}, exit ${status}, ${restarts} restarts`,
  )
  dropIn(machine, set, '')
  machine.systemctl('restart', DAEMON)
  await areReady(set)
}

/** Writes the file that `systemctl edit` would write. */
function dropIn(machine: Machine, { dropIns }: SetUp, text: string): void {
  mkdirSync(dropIns, { recursive: true })
  writeFileSync(path.join(dropIns, 'test.conf'), `${text}\n`)
  machine.systemctl('daemon-reload')
}

function ends(report: Report, machine: Machine): void {
  const { code } = machine.systemctl('stop', ...UNITS)
  const results = UNITS.map((unit) => `${machine.show(unit, 'Result')} ${machine.show(unit, 'ExecMainStatus')}`)
  const said = journalOf(machine, DAEMON)
  report.promise(
    'systemctl stop drains: nothing is cut, exit 0',
    code === 0 && results.every((one) => one === 'success 0') && said.includes('drained, nothing was cut'),
    results.join(', '),
  )
}
