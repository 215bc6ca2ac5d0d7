// The plugin for Claude Code, its hooks run as Claude Code runs them against a real loci: what it stores and recalls,
// and how long a person waits for it while the daemon is well, slow, silent or away. In full also Claude Code itself,
// with a model of ours.

import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { eventually } from '@loci/chassis/testing/request.ts'
import { Loci } from '@loci/sdk/loci.ts'
import type { User } from '@loci/sdk/user.ts'
import { checkManifests } from '../robustness/claude-code-manifests.ts'
import {
  cloneAt,
  copyPlugin,
  EVENTS,
  type HookEvent,
  PLUGIN,
  runProcess,
  type Start,
  startSession,
} from '../robustness/claude-code-plugin.ts'
import { type Bench, filesWith, TRIALS } from '../robustness/claude-code-trials.ts'
import { startFaultProxy } from '../robustness/fault-proxy.ts'
import { claudeCode, runClaude, startModel } from '../robustness/real-claude-code.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization, addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const IS_SHORT = process.argv.includes('--short')
/** What a person may notice of a hook, above what any process takes to start on this machine. */
const BOUND_MS = 300
/** What it does itself takes longer on a busy machine, as a bare start does: it loads files, and may start another. */
const STARTS = 4
const ROUNDS = IS_SHORT ? 3 : 9
const TIMED: readonly HookEvent[] = IS_SHORT ? ['UserPromptSubmit', 'Stop'] : EVENTS
const SLOW_MS = IS_SHORT ? 4_000 : 10_000
/** Guards against hanging. */
const STORED_MS = 60_000
const TRIES_MAX = 10
const FIGURE_MAX = 160

await reportOn(async (report) => {
  const place = realpathSync(mkdtempSync(path.join(tmpdir(), 'loci-claude-code-')))
  const world = await startWorld({ replicas: 1 })
  try {
    checkManifests(report, place)
    const bench = await benchOf(world, place)
    await trials(report, bench)
    await timed(report, world, bench)
    if (!IS_SHORT) await whole(report, bench)
  } finally {
    await world.stop()
    rmSync(place, { recursive: true, force: true })
  }
})

/** A person whom the command line knows by a profile. */
async function benchOf(world: World, place: string): Promise<Bench> {
  const { apiKey } = await addOrganization(world, 'acme')
  const url = world.management?.url as string
  const service = await new Loci({ url, apiKey }).services.create({ name: 'Notes', plan: 'pro' }).ready()
  const config = path.join(place, 'config')
  mkdirSync(config, { mode: 0o700 })
  const { slug } = await service.describe()
  writeFileSync(
    path.join(config, 'config.toml'),
    `active = "dev"\n\n[profiles.dev]\nurl = "${url}"\nservice = "${slug}"\n`,
  )
  writeFileSync(path.join(config, 'credentials.toml'), `[profiles.dev]\napi_key = "${apiKey}"\n`, { mode: 0o600 })
  return { plugin: copyPlugin(place), place, service, apiKey, env: { HOME: place, LOCI_CONFIG_DIR: config } }
}

async function trials(report: Report, bench: Bench): Promise<void> {
  for (const { promise, run, mutants } of TRIALS) {
    const problem = await run(bench)
    report.promise(promise, problem === undefined, problem ?? 'kept')
    for (const { name, edits } of IS_SHORT ? mutants.slice(0, 1) : mutants)
      report.mutant(name, (await run({ ...bench, plugin: copyPlugin(bench.place, edits) }))?.slice(0, FIGURE_MAX))
  }
}

type State = 'alive' | 'slow' | 'silent' | 'away'

// Mutants: the deadline at a minute, and a store that the hook waits for.
async function timed(report: Report, world: World, bench: Bench): Promise<void> {
  const tenant = await addTenant(world, { name: 'timed', plan: 'pro' })
  const proxy = await startFaultProxy(() => Number(new URL(world.daemons[0]?.url as string).port))
  const { token } = tenant.capability
  const env = { ...bench.env, LOCI_URL: `http://127.0.0.1:${proxy.port}`, LOCI_TOKEN: token, LOCI_USER: 'timed' }
  const set = async (state: State) => {
    proxy.delayMs = state === 'slow' ? SLOW_MS : 0
    await proxy.set(state === 'silent' ? 'hole' : state === 'away' ? 'refuse' : 'pass')
  }
  const measured = async (plugin: string, state: State, events: readonly HookEvent[], rounds: number) => {
    await set(state)
    const figures = await timesOf({ plugin, place: bench.place, env }, events, rounds)
    await set('alive')
    return figures
  }
  try {
    for (const state of ['alive', 'slow', 'silent', 'away'] as const) {
      const times = await measured(bench.plugin, state, TIMED, ROUNDS)
      const over = overBound(times)
      report.promise(
        `a hook takes a person's time for ${BOUND_MS} ms at most, and is silent, while the daemon is ${state}`,
        over === undefined && times.said === '',
        `${over ?? inWords(times)}${times.said}`,
      )
    }
    const late = copyPlugin(bench.place, [
      { file: 'integrations/claude-code/scripts/hook.mjs', from: 'DEADLINE_MS = 250', to: 'DEADLINE_MS = 60_000' },
      { file: 'integrations/claude-code/scripts/hook.mjs', from: 'INPUT_MS = 2_000', to: 'INPUT_MS = 60_000' },
    ])
    const slow = await measured(late, 'slow', ['UserPromptSubmit'], 1)
    report.mutant('it waits for a slow daemon', overBound(slow))
    const holding = copyPlugin(bench.place, [
      { file: 'integrations/claude-code/scripts/hook.mjs', from: "stdio: 'ignore'", to: "stdio: 'inherit'" },
    ])
    const held = await measured(holding, 'slow', ['Stop'], 1)
    report.mutant('what stores holds the hook', overBound(held))
    const user = new Loci({ url: world.daemons[0]?.url as string, token }).service().user('timed')
    await nothingLost(report, { ...bench, env }, set, user)
  } finally {
    await proxy.close()
  }
  const left = filesWith([...foldersIn(bench.place, 'data-'), bench.plugin], [token, bench.apiKey])
  report.promise(
    'no file of the plugin, or of its folder, has a credential',
    left.length === 0,
    left.join(', ') || 'none',
  )
}

interface Times {
  hook: number
  bare: number
  /** What it said, and how it ended where not with 0. */
  said: string
}

function overBound(times: Times): string | undefined {
  return times.hook > BOUND_MS + STARTS * times.bare ? inWords(times) : undefined
}

function inWords({ hook, bare }: Times): string {
  return `${Math.round(hook)} ms, a bare node ${Math.round(bare)} ms`
}

/** Medians, each hook beside a start of node that does nothing. */
async function timesOf(start: Start, events: readonly HookEvent[], rounds: number): Promise<Times> {
  const hooks: number[] = []
  const bares: number[] = []
  let said = ''
  for (let round = 0; round < rounds; round += 1)
    for (const event of events) {
      const session = startSession(start)
      session.says('The harbour master wants the report in Dutch')
      const fields = { prompt: 'Which language for the report?', source: event === 'SessionStart' ? 'startup' : 'user' }
      bares.push((await runProcess(process.execPath, ['-e', '0'], { cwd: session.project, env: start.env })).ms)
      const ran = await session.run(event, fields)
      hooks.push(ran.ms)
      if (ran.code !== 0 || ran.stderr !== '') said += `; ${event} ended with ${ran.code} and said ${ran.stderr}`
    }
  return { hook: median(hooks), bare: median(bares), said }
}

function median(figures: number[]): number {
  return figures.toSorted((a, b) => a - b)[figures.length >> 1] ?? 0
}

async function nothingLost(
  report: Report,
  bench: Bench,
  set: (state: State) => Promise<void>,
  user: User,
): Promise<void> {
  const lost = async (plugin: string, name: string) => {
    const session = startSession({ ...bench, plugin })
    session.says(`The harbour of ${name} closes at nine`)
    await set('away')
    await session.run('Stop')
    await eventually(() => session.problem())
    await set('alive')
    session.says(`The harbour of ${name} opens at six`)
    await session.run('SessionEnd', { reason: 'other' })
    await eventually(() => session.stored() === statSync(session.transcript).size)
    const { total } = await user.countMemories({ contextId: session.id })
    return total === 2 ? undefined : `${total} of 2 stored`
  }
  const problem = await lost(bench.plugin, 'Utrecht')
  report.promise('what was said while the daemon was away is stored when it is back', !problem, problem ?? '2 of 2')
  const careless = copyPlugin(bench.place, [
    {
      file: 'integrations/claude-code/scripts/store.mjs',
      from: 'await store(place, database, batch)',
      to: 'await store(place, database, batch).catch((error) => noteProblem(env, event, error.message))',
    },
  ])
  report.mutant('what failed counts as stored', await lost(careless, 'Delft'))
}

function foldersIn(place: string, prefix: string): string[] {
  return readdirSync(place).flatMap((name) => (name.startsWith(prefix) ? [path.join(place, name)] : []))
}

/** As a person does it: the marketplace is added, the plugin installed, and two sessions follow each other. */
async function whole(report: Report, bench: Bench): Promise<void> {
  const claude = claudeCode()
  if ('missing' in claude) return report.skip('two sessions of Claude Code itself', claude.missing)
  const model = await startModel()
  try {
    const home = path.join(bench.place, 'home')
    const project = cloneAt(path.join(home, 'lighthouse'))
    const programs = path.join(home, 'bin')
    mkdirSync(programs)
    const main = path.join(ROOT, 'cli/main.ts')
    writeFileSync(path.join(programs, 'loci'), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, {
      mode: 0o755,
    })
    const env = { ...bench.env, HOME: home, PATH: programs, ANTHROPIC_BASE_URL: model.url }
    const run = (...args: string[]) => runClaude(claude.file, args, { cwd: project, env })
    for (const validated of [ROOT, PLUGIN]) {
      const { code, stdout } = await run('plugin', 'validate', '--strict', validated)
      const name = path.relative(ROOT, validated) || 'the marketplace'
      report.promise(`claude plugin validate --strict: ${name}`, code === 0, code === 0 ? 'passed' : stdout.slice(-600))
    }
    const market = path.join(bench.place, 'market')
    for (const folder of ['.claude-plugin', 'integrations/claude-code'])
      cpSync(path.join(ROOT, folder), path.join(market, folder), { recursive: true })
    const installed = [
      await run('plugin', 'marketplace', 'add', market),
      await run('plugin', 'install', 'loci@loci'),
      await run('-p', 'The lighthouse keeper of this project is called Geertruida'),
    ]
    const failed = installed.find(({ code }) => code !== 0)
    report.promise(
      'it is installed from the marketplace, and a session runs',
      !failed,
      failed?.stdout.slice(-400) ?? 'ok',
    )
    const user = await eventually(async () => {
      const users = await bench.service.users().all()
      return users.find(({ name, records }) => /^lighthouse-[0-9a-f]{12}$/.test(name) && records > 0)
    }, STORED_MS).catch(() => undefined)
    const said = user ? await bench.service.user(user.name).memories().all() : []
    const problem = path.join(home, '.claude/plugins/data/loci-loci/last-problem.json')
    report.promise(
      'what was said in it is stored, and nothing else',
      said.length === 1 && said[0]?.content === 'The lighthouse keeper of this project is called Geertruida',
      said.length > 0
        ? JSON.stringify(said.map(({ content }) => content))
        : existsSync(problem)
          ? readFileSync(problem, 'utf8')
          : 'no problem is noted',
    )
    // A machine that is too busy to recall in time says so, and the next prompt is another chance.
    let told = false
    for (let tries = 0; tries < TRIES_MAX && !told; tries += 1) {
      model.asked.length = 0
      await run('-p', 'What is the name of the lighthouse keeper?')
      told = model.asked.some((body) => /<loci-memory>[^"]*Geertruida[^"]*<\/loci-memory>/.test(body))
    }
    report.promise('the next session has it beside its prompt', told, `${model.asked.length} prompts to the model`)
    const { stdout } = await run('mcp', 'list')
    report.promise('its tools come through loci mcp', /loci.*Connected/.test(stdout), stdout.trim().slice(-200))
  } finally {
    model.close()
  }
}
