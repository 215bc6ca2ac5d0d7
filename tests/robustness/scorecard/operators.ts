// Checks 37 to 40: what operators get.

import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { allBlocks, isOfCommands, isRun, reasonOf } from '../../world/accounted-blocks.ts'
import { commandLine, SUPERUSER } from '../../world/packed.ts'
import { soundSettings } from '../broken-settings.ts'
import { problemsOf, readDashboards } from '../dashboards.ts'
import { type Check, dataOf, type Setting, type UpData, type Verdict } from './setting.ts'

const EXPOSURE_MAX = 3

export const OPERATORS: readonly Check[] = [
  {
    number: 37,
    title: 'blocks of code in documents that CI executes: 100 %',
    async measure() {
      const blocks = allBlocks().filter(({ language }) => language !== 'text')
      const run = blocks.filter(isRun)
      const named = blocks.filter((block) => !isRun(block) && isOfCommands(block))
      const excused = blocks.filter((block) => !isRun(block) && !isOfCommands(block) && reasonOf(block))
      const left = blocks.length - run.length - named.length - excused.length
      const value = `${run.length} of ${blocks.length} are executed, ${named.length} start a suite that is there, ${excused.length} have a reason, ${left} have none`
      if (left > 0 || excused.length === 0) return { passes: left === 0, value }
      return {
        passes: false,
        value,
        due: 'those with a reason are not executed: most have ids, secrets and hosts of an installation; see tests/world/accounted-blocks.ts',
      }
    },
  },
  { number: 38, title: 'promtool has no warning about the metrics; dashboards load', measure: metrics },
  {
    number: 39,
    title: 'wrong settings: all at once, unknown names with what was meant; --print-config says from where',
    measure: settings,
  },
  { number: 40, title: `systemd-analyze verify is clean, exposure at most ${EXPOSURE_MAX.toFixed(1)}`, measure: units },
]

async function metrics({ loci }: Setting): Promise<Verdict> {
  if (spawnSync('promtool', ['--version']).status !== 0)
    return { passes: false, value: 'not seen', due: 'no promtool on this machine' }
  const up = await dataOf<UpData>(loci, ['up', '-d'])
  const warnings: string[] = []
  let planted: string[] = []
  let count = 0
  for (const program of ['management', 'daemon'] as const) {
    const text = await (await fetch(`${up[program]}/metrics`)).text()
    count += text.match(/^# TYPE /gm)?.length ?? 0
    warnings.push(...saidOf(text))
    planted = saidOf(`${text}# HELP loci_things_total Things.\n# TYPE loci_things_total gauge\nloci_things_total 1\n`)
  }
  const boards = readDashboards()
  const wrong = problemsOf(boards)
  const value = `${warnings.length} warnings about ${count} metrics, ${wrong.length} problems of ${boards.length} dashboards ${warnings[0] ?? wrong[0] ?? ''}`
  const mutant = { name: 'a gauge that is named as a counter', caught: planted[0] }
  return { passes: warnings.length === 0 && count > 0 && wrong.length === 0 && boards.length >= 3, value, mutant }
}

function saidOf(input: string): string[] {
  const { stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input, encoding: 'utf8' })
  return `${stdout}${stderr}`.split('\n').filter((line) => line !== '')
}

async function settings({ installed }: Setting): Promise<Verdict> {
  const program = path.join(installed.folder, 'node_modules/@locihq/server/bin/loci-daemon.cjs')
  const run = (args: string[], env: Record<string, string>) =>
    spawnSync(installed.node, [program, ...args], { env: { PATH: '/usr/bin:/bin', ...env }, encoding: 'utf8' })
  const wrong = run(['--check-config'], {
    LOCI_LISTEN: 'nowhere',
    LOCI_DATABSE_URL: 'postgres://loci_daemon@127.0.0.1/loci',
    LOCI_SEALING_KEYS: 'changeme',
    LOCI_DATABASE_CONNECTIONS_MAX: '1',
  })
  const told = `${wrong.stdout}${wrong.stderr}`
  const expected = [
    /LOCI_LISTEN/,
    /LOCI_SEALING_KEYS/,
    /LOCI_DATABASE_CONNECTIONS_MAX/,
    /LOCI_DATABSE_URL.*LOCI_DATABASE_URL/,
  ]
  const found = expected.filter((pattern) => pattern.test(told)).length
  const sound = soundSettings('daemon')
  const shown = run(['--print-config'], sound)
  const secret = sound.LOCI_SEALING_KEYS?.split(':')[1] ?? ''
  const sources = (shown.stdout.match(/\b(?:default|environment|LOCI_[A-Z_]+)\b/g) ?? []).length
  const right = run(['--check-config'], sound)
  return {
    passes:
      wrong.status === 78 &&
      found === expected.length &&
      right.status === 0 &&
      sources > 10 &&
      !shown.stdout.includes(secret),
    value: `exit ${wrong.status}, ${found} of ${expected.length} problems at once; --print-config ${shown.status === 0 ? 'shows sources and masks secrets' : shown.stderr.slice(0, 200)}`,
    mutant: { name: 'sound settings', caught: right.status === 0 ? 'nothing is told of them' : undefined },
  }
}

/** As `loci setup` writes them. */
async function units(setting: Setting): Promise<Verdict> {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0)
    return { passes: false, value: 'not seen', due: 'no systemd-analyze on this machine' }
  await using postgres = await startThrowaway()
  // Who may speak to that server is whoever started it.
  const user = process.getuid?.() === 0 ? SUPERUSER : setting.user
  const mine = commandLine(setting.place, setting.installed, { user })
  const folder = path.join(mine.home, 'etc')
  writeFileSync(path.join(mine.home, 'admin-url'), postgres.adminUrl(), { mode: 0o600 })
  await dataOf(mine, [
    ...['setup', '--directory', folder, '--database-url-file', 'admin-url', '--owner-email', 'ada@example.com'],
    ...['--listen', '127.0.0.1:4950', '--cell-listen', '127.0.0.1:4960'],
    ...['--public-url', 'http://127.0.0.1:4950', '--cell-url', 'http://127.0.0.1:4960'],
  ])
  const names = readdirSync(path.join(folder, 'systemd')).filter((name) => name.endsWith('.service'))
  const files = names.map((name) => path.join(folder, 'systemd', name))
  const verified = verify(files)
  const exposures = files.map(exposureOf)
  const loose = path.join(folder, 'loose')
  mkdirSync(loose)
  const planted = path.join(loose, names[0] as string)
  const text = readFileSync(files[0] as string, 'utf8')
  writeFileSync(
    planted,
    text.replaceAll(/^(?:Protect|Private|Restrict|SystemCall|Capability|DynamicUser|NoNew).*\n/gm, ''),
  )
  const broken = path.join(loose, `broken-${names[0]}`)
  writeFileSync(broken, text.replace('ExecStart=/', 'ExecStart=nowhere/'))
  const caught = exposureOf(planted) > EXPOSURE_MAX && verify([broken]) !== ''
  return {
    passes: names.length === 2 && verified === '' && exposures.every((one) => one <= EXPOSURE_MAX),
    value: `${names.join(', ')}: ${verified || 'nothing to say'}; exposure ${exposures.join(' and ')}`,
    mutant: { name: 'units without protection, or with a wrong path', caught: caught ? 'told' : undefined },
  }
}

function verify(files: string[]): string {
  const { stdout, stderr, status } = spawnSync('systemd-analyze', ['verify', ...files], { encoding: 'utf8' })
  // What it says of other units of this machine is not ours.
  const ours = `${stdout}${stderr}`
    .split('\n')
    .filter((line) => files.some((file) => line.includes(path.basename(file))))
  return ours.join('; ') || (status === 0 ? '' : `exit ${status}`)
}

function exposureOf(file: string): number {
  const { stdout, stderr } = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', file], {
    encoding: 'utf8',
  })
  const [, level] = /Overall exposure level for .*: ([\d.]+)/.exec(`${stdout}${stderr}`) ?? []
  return level === undefined ? Number.POSITIVE_INFINITY : Number(level)
}
