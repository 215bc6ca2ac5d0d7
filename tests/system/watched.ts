// deploy/prometheus and deploy/grafana, with the real promtool, Prometheus and programs: what is scraped has no
// fault, every rule and alert is one of Prometheus and reads metrics that are there, every alert is fired by a
// test and has its row in docs/operations/alerts.md.

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from '@loci/chassis/testing/request.ts'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { parse } from 'yaml'
import { type Dashboard, expressionsOf, problemsOf, readDashboards } from '../robustness/dashboards.ts'
import type { LociProcess } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const HOME = path.join(ROOT, 'deploy/prometheus')
const TESTS = ['alerts.test.yml', 'burns.test.yml']
const ALERTS = parse(readFileSync(path.join(HOME, 'alerts.yml'), 'utf8')) as {
  groups: { rules: { alert: string; expr: string; labels: { severity: string }; annotations: { summary: string } }[] }[]
}
const RULES = parse(readFileSync(path.join(HOME, 'rules.yml'), 'utf8')) as {
  groups: { rules: { record: string; expr: string }[] }[]
}
const alerts = ALERTS.groups.flatMap(({ rules }) => rules)
const records = RULES.groups.flatMap(({ rules }) => rules)
/** Prometheus's own, and those of parts that this world does not have: an encoder, certificates (ages.test.ts). */
const ELSEWHERE = [
  ...['loci_encoder_lag_seconds', 'loci_encoder_waiting', 'up'],
  ...['loci_certificate_remaining_seconds', 'loci_database_ca_remaining_seconds'],
]
const ADA = { sub: 'ada', email: 'ada@example.com', email_verified: true, name: 'Ada' }
const SEEN_MS_MAX = 120_000

await reportOn(async (report) => {
  if (spawnSync('promtool', ['--version']).status !== 0)
    return report.skip('everything', 'no promtool is here: it comes with Prometheus')
  rulesAlone(report)
  rows(report)
  boards(report)
  const place = mkdtempSync(path.join(tmpdir(), 'loci-watched-'))
  const world = await startWorld({ replicas: 1, people: [ADA] })
  try {
    const { url, headers } = await someUse(world)
    const texts = await Promise.all(
      [world.management?.url, url].map(async (one) => (await fetch(`${one}/metrics`)).text()),
    )
    scraped(report, texts)
    if (spawnSync('prometheus', ['--version']).status !== 0)
      report.skip('a real Prometheus', 'no prometheus is here, promtool alone')
    else await reallyWatched(report, world, { place, url, headers })
  } finally {
    await world.stop()
    rmSync(place, { recursive: true, force: true })
  }
})

function promtool(args: string[], input = '', cwd = HOME) {
  const { status, stdout, stderr } = spawnSync('promtool', args, { cwd, input, encoding: 'utf8' })
  return { status, text: `${stdout}${stderr}`.trim() }
}

function rulesAlone(report: Report): void {
  const config = promtool(['check', 'config', 'prometheus.yml'])
  report.promise('promtool check config, with rules and alerts', config.status === 0, lastOf(config.text))
  const tests = promtool(['test', 'rules', ...TESTS])
  const cases = TESTS.flatMap(
    (file) => (parse(readFileSync(path.join(HOME, file), 'utf8')) as { tests: object[] }).tests,
  )
  report.promise('promtool test rules', tests.status === 0, tests.status === 0 ? `${cases.length} cases` : tests.text)
  // All at once: each alert must be missed by a case of its own.
  const never = sabotaged((text) => text.replaceAll(/^( +expr: ).*$/gm, '$1vector(0) > 1'), TESTS)
  const missed = alerts.filter(({ alert }) => !never.includes(`{alertname="${alert}"}`))
  report.mutant('alerts that never fire', missed.length === 0 ? `all ${alerts.length} are missed` : undefined)
  const hasty = sabotaged((text) => text.replaceAll(/^ +for: .*\n/gm, ''), TESTS.slice(0, 1))
  report.mutant('alerts that do not wait', /FAILED/.test(hasty) ? 'too early' : undefined)
}

/** The output of promtool's tests for alerts that were changed like this. */
function sabotaged(change: (text: string) => string, tests: string[]): string {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-alerts-'))
  try {
    cpSync(HOME, place, { recursive: true })
    writeFileSync(path.join(place, 'alerts.yml'), change(readFileSync(path.join(HOME, 'alerts.yml'), 'utf8')))
    return promtool(['test', 'rules', ...tests], '', place).text
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}

function rows(report: Report): void {
  const page = readFileSync(path.join(ROOT, 'docs/operations/alerts.md'), 'utf8')
  const told = [...page.matchAll(/^\| `(\w+)` \((page|ticket)\) \|/gm)].map(
    ([, name, severity]) => `${name} ${severity}`,
  )
  const are = alerts.map(({ alert, labels }) => `${alert} ${labels.severity}`)
  const differ = [...told.filter((one) => !are.includes(one)), ...are.filter((one) => !told.includes(one))]
  report.promise(
    'every alert has a row that says what to do, and no row is left over',
    differ.length === 0,
    differ.join() || `${are.length} rows`,
  )
}

function boards(report: Report): void {
  const all = readDashboards()
  const problems = problemsOf(all)
  const panels = all.flatMap((board) => board.panels)
  report.promise(
    'every panel of the dashboards has an expression that Prometheus reads, says what is good, and has a place of its own',
    all.length === 3 && problems.length === 0,
    problems.join('; ') ||
      `${all.length} dashboards, ${panels.length} panels, ${expressionsOf(all).length} expressions`,
  )
  const sabotaged = (change: (board: Dashboard) => void) => {
    const copy = structuredClone(all)
    change(copy[0] as Dashboard)
    return problemsOf(copy)[0]
  }
  const first = ({ panels: [panel] }: Dashboard) => panel as Dashboard['panels'][number]
  report.mutant(
    'an expression that is none',
    sabotaged((board) => first(board).targets.push({ expr: 'sum(up' })),
  )
  report.mutant(
    'a panel on another',
    sabotaged((board) => Object.assign(first(board).gridPos, { w: 24, h: 24 })),
  )
}

function scraped(report: Report, texts: string[]): void {
  const said = texts.map((text) => promtool(['check', 'metrics'], text).text).filter(Boolean)
  const names = new Set(texts.flatMap((text) => [...text.matchAll(/^(\w+)[{ ]/gm)].map(([, name]) => name as string)))
  report.promise('promtool check metrics has nothing to say', said.length === 0, said.join() || `${names.size} series`)
  const misnamed = `${texts[0]}# HELP loci_things_total Things.\n# TYPE loci_things_total gauge\nloci_things_total 1\n`
  report.mutant('a gauge that is named as a counter', promtool(['check', 'metrics'], misnamed).text || undefined)
  const shown = expressionsOf(readDashboards()).map((expr) => ({ expr }))
  const strange = strangeTo(names, [...alerts, ...records, ...shown])
  report.promise(
    'rules, alerts and dashboards read metrics that are there',
    strange.length === 0,
    strange.join() || 'all of them',
  )
  const gone = new Set([...names].filter((name) => name !== 'loci_degraded'))
  report.mutant('a metric that is gone', strangeTo(gone, alerts)[0])
}

function strangeTo(names: Set<string>, rules: { expr: string }[]): string[] {
  const read = rules.flatMap(({ expr }) => expr.replaceAll(/"[^"]*"/g, '').match(/\b(?:loci_\w+|up)\b/g) ?? [])
  return [...new Set(read)].filter((name) => !names.has(name) && !ELSEWHERE.includes(name))
}

async function someUse(world: World): Promise<{ url: string; headers: { [name: string]: string } }> {
  const tenant = await addTenant(world, { name: 'watched', plan: 'pro' })
  const [daemon] = world.daemons as [LociProcess]
  const headers = {
    'x-loci-capability': tenant.capability.token,
    'x-loci-database': 'notes',
    'content-type': 'application/json',
  }
  await recall(daemon.url, headers)
  return { url: daemon.url, headers }
}

async function recall(url: string, headers: { [name: string]: string }): Promise<void> {
  const answer = await fetch(`${url}/v1/memory/recall`, { method: 'POST', headers, body: '{"query":"who?"}' })
  if (!answer.ok) throw new Error(`recall answered ${answer.status}: ${await answer.text()}`)
}

interface Watched {
  place: string
  url: string
  headers: { [name: string]: string }
}

async function reallyWatched(report: Report, world: World, { place, url, headers }: Watched): Promise<void> {
  cpSync(HOME, place, { recursive: true })
  const own = new URL(`http://127.0.0.1:${await freePort()}`)
  const management = new URL(world.management?.url as string)
  const config = readFileSync(path.join(HOME, 'prometheus.yml'), 'utf8')
    .replaceAll('15s', '1s')
    .replace('127.0.0.1:4400', management.host)
    .replace('127.0.0.1:4410', new URL(url).host)
  writeFileSync(path.join(place, 'prometheus.yml'), config)
  writeFileSync(
    path.join(place, 'rules.yml'),
    readFileSync(path.join(HOME, 'rules.yml'), 'utf8').replace('interval: 30s', 'interval: 1s'),
  )
  mkdirSync(path.join(place, 'data'))
  const args = ['--config.file=prometheus.yml', '--storage.tsdb.path=data', `--web.listen-address=${own.host}`]
  const prometheus = spawn('prometheus', args, { cwd: place, stdio: 'ignore' })
  const ask = async (query: string) => {
    const answer = await fetch(`${own.origin}/api/v1/query?query=${encodeURIComponent(query)}`).catch(() => undefined)
    if (!answer?.ok) return []
    const body = (await answer.json()) as { data: { result: { metric: object; value: [number, string] }[] } }
    return body.data.result
  }
  try {
    await eventually(async () => (await ask('up == 1')).length === 2, SEEN_MS_MAX)
    // A counter that appears has no rate before its second value.
    const ratios = async () => {
      await recall(url, headers)
      return (await ask('{__name__=~"loci:(failed_answers|slow_recalls):ratio_rate5m",job="loci-daemon"} >= 0')).length
    }
    await eventually(async () => (await ratios()) === 2, SEEN_MS_MAX)
    const firing = await ask('ALERTS{alertstate="firing"}')
    report.promise(
      'a real Prometheus scrapes both, has both ratios, and wakes nobody',
      firing.length === 0,
      firing.length === 0 ? 'two targets, two ratios' : JSON.stringify(firing.map(({ metric }) => metric)),
    )
    const shown = await Promise.all(expressionsOf(readDashboards()).map(ask))
    const full = shown.filter((series) => series.length > 0)
    report.note(
      `${full.length} of ${shown.length} expressions of the dashboards have something to show of a quiet world`,
    )
    const [daemon] = world.daemons as [LociProcess]
    await daemon.kill()
    await eventually(async () => (await ask('ALERTS{alertname="LociGone"}')).length === 1, SEEN_MS_MAX)
    report.promise('a daemon that is killed is missed', true, 'LociGone waits for its two minutes')
  } finally {
    prometheus.kill()
    await once(prometheus, 'exit')
  }
}

function lastOf(text: string): string {
  return (
    text
      .split('\n')
      .findLast((line) => line.trim() !== '')
      ?.trim() ?? ''
  )
}
