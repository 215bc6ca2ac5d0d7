// The Python client from its wheel and its sdist, in environments that hold nothing else: the cases that hold every
// client, every kind of verb, with and without await, against real processes; its README; and what its types say.

import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startAnswerThief } from '../robustness/answer-thief.ts'
import {
  bringPython,
  findPythons,
  MINORS,
  makeEnvironment,
  must,
  type Python,
  runPython,
  toolsOf,
} from '../robustness/python-environments.ts'
import { checkTypes } from '../robustness/python-types.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const CLIENT = path.join(ROOT, 'clients/python')
const TESTS = path.join(CLIENT, 'tests')
const CASES = path.join(ROOT, 'sdk/conformance.json')
const IS_SHORT = process.argv.includes('--short')
const FLAVOURS = ['sync', 'async'] as const
const DEPENDENCY = 'httpx2'
const ANY = Symbol('whatever it is')
/** The slots whose events a client sees that misses none. */
const WHOLE = ['one', 'two', 'three', 'four', 'end']

interface Installed extends Python {
  /** The Python of the environment. */
  python: string
}

await reportOn(async (report) => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-python-'))
  try {
    const [first, ...others] = findPythons()
    if (!first) return report.skip('everything', `no Python of ${MINORS.join(', ')} with venv is here`)
    const dist = path.join(place, 'dist')
    const environments: Installed[] = []
    if (IS_SHORT) {
      environments.push(await installed(report, place, first, await wheelBy(first, place, dist)))
    } else {
      const tools = await toolsOf(path.join(CLIENT, 'requirements-dev.txt'), first)
      const { wheel, sdist } = await built(report, tools, dist)
      const pythons = await everyPython(report, tools, [first, ...others])
      for (const python of pythons) environments.push(await installed(report, place, python, wheel))
      await installed(report, place, first, sdist, 'sdist')
      await checkTypes(report, { place, client: CLIENT, tools, python: (environments[0] as Installed).python })
      await withoutServer(report, tools, environments)
    }
    await served(report, place, environments)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

/** Without any tool of ours, as somebody does it who has a Python and its pip. */
async function wheelBy(python: Python, place: string, dist: string): Promise<string> {
  const builder = await makeEnvironment(python, path.join(place, 'builder'))
  await must(builder, ['-m', 'pip', 'wheel', '-q', '--no-deps', '-w', dist, CLIENT])
  return fileOf(dist, '.whl')
}

async function built(report: Report, tools: string, dist: string): Promise<{ wheel: string; sdist: string }> {
  mkdirSync(dist)
  const build = `import flit_core.buildapi as b, sys; b.build_wheel(sys.argv[1]); b.build_sdist(sys.argv[1])`
  await must(tools, ['-c', build, dist], { cwd: CLIENT })
  const [wheel, sdist] = [fileOf(dist, '.whl'), fileOf(dist, '.tar.gz')]
  const names = (await must(tools, ['-m', 'zipfile', '-l', wheel])).split('\n').map((line) => line.split(/\s/)[0] ?? '')
  const own = readdirSync(path.join(CLIENT, 'src/locihq'), { recursive: true, encoding: 'utf8' })
  const missing = own.filter((name) => /\.py$|py\.typed$/.test(name) && !names.includes(`locihq/${name}`))
  const foreign = names.filter((name) => name.includes('.') && !/^locihq(?:-[\d.]+\.dist-info)?\//.test(name))
  report.promise(
    'the wheel has every module, py.typed and the licence, and nothing beside them',
    missing.length === 0 && foreign.length === 0 && names.some((name) => name.endsWith('/LICENSE')),
    [...missing, ...foreign].join(' ') || `${names.filter((name) => name.endsWith('.py')).length} modules`,
  )
  return { wheel, sdist }
}

/** The ones of this machine, and what uv can bring; each that is left out is named. */
async function everyPython(report: Report, tools: string, here: Python[]): Promise<Python[]> {
  const pythons = MINORS.flatMap((minor) => {
    const found = here.find(({ version }) => version.startsWith(`${minor}.`)) ?? bringPython(tools, minor)
    if ('program' in found) return [found]
    report.skip(`Python ${minor}`, found.missing)
    return []
  })
  return pythons
}

async function installed(
  report: Report,
  place: string,
  python: Python,
  file: string,
  kind = 'wheel',
): Promise<Installed> {
  const environment = await makeEnvironment(python, path.join(place, `${kind}-${python.version}`))
  await must(environment, ['-m', 'pip', 'install', '-q', file])
  const metadata =
    'import importlib.metadata as m, json; d = m.distribution("locihq"); print(json.dumps([d.version, d.requires]))'
  const [version, requires] = JSON.parse(await must(environment, ['-c', metadata])) as [string, string[]]
  const always = requires.filter((one) => !one.includes('extra =='))
  const { stdout } = await runPython(environment, ['-m', 'pip', 'check'])
  report.promise(
    `Python ${python.version}: the ${kind} installs into an empty environment, with one dependency`,
    always.length === 1 && always[0]?.startsWith(DEPENDENCY) === true && /No broken/.test(stdout),
    `locihq ${version}, ${always.join()}`,
  )
  return { ...python, python: environment }
}

/** Retries, bounds, redirects and moves against somebody's server; signatures against the vectors of the standard. */
async function withoutServer(report: Report, tools: string, environments: Installed[]): Promise<void> {
  const wrong: string[] = []
  const count = async (python: string, name: string, env: { [name: string]: string } = {}) => {
    const { code, stderr } = await runPython(python, ['-m', 'unittest', name], { cwd: TESTS, env })
    const ran = Number(/^Ran (\d+) tests/m.exec(stderr)?.[1] ?? 0)
    if (code !== 0 || ran === 0) wrong.push(`${name}: ${stderr.slice(-600)}`)
    return ran
  }
  for (const { version, python } of environments) {
    const ran = [await count(python, 'test_offline'), await count(python, 'test_calls')]
    report.promise(
      `Python ${version}: what is sent, repeated, refused and signed is what the tests of the client say`,
      wrong.length === 0,
      wrong.splice(0).join('; ') || `${ran.reduce((sum, one) => sum + one, 0)} tests, each with and without await`,
    )
  }
  // The tools have OpenTelemetry and cryptography.
  const env = { PYTHONPATH: path.join(CLIENT, 'src') }
  const ran = [await count(tools, 'test_spans', env), await count(tools, 'test_offline', env)]
  report.promise(
    'calls are spans by the GenAI conventions for memory, and both ways to sign agree',
    wrong.length === 0,
    wrong.join('; ') ||
      `${ran.reduce((sum, one) => sum + one, 0)} tests with the SDK of OpenTelemetry and cryptography`,
  )
}

async function served(report: Report, place: string, environments: Installed[]): Promise<void> {
  const world = await startWorld({ replicas: 1 })
  try {
    for (const environment of environments) {
      const { apiKey } = await addOrganization(world, `python-${environment.version}`)
      const env = { LOCI_URL: world.management?.url as string, LOCI_API_KEY: apiKey }
      for (const flavour of FLAVOURS) {
        await conforms(report, environment, flavour, env)
        await verbs(report, world, environment, flavour, env)
      }
      if (environment === environments[0]) {
        await documented(report, environment, env)
        await mutants(report, world, place, environment, env)
      }
    }
  } finally {
    await world.stop()
  }
}

type Env = { [name: string]: string }

async function caseProblems(python: string, flavour: string, env: Env): Promise<{ count: number; problems: string[] }> {
  const { code, stdout, stderr } = await runPython(python, [path.join(TESTS, 'conformance.py'), CASES, flavour], {
    env,
  })
  if (code !== 0) return { count: 0, problems: [stderr.slice(-600)] }
  const cases = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { title: string; problem: string | null })
  const problems = cases.flatMap(({ title, problem }) => (problem === null ? [] : [`${title}: ${problem}`]))
  return { count: cases.length, problems }
}

async function conforms(report: Report, { version, python }: Installed, flavour: string, env: Env): Promise<void> {
  const { count, problems } = await caseProblems(python, flavour, env)
  const wanted = (JSON.parse(readFileSync(CASES, 'utf8')) as { cases: unknown[] }).cases.length
  report.promise(
    `Python ${version}, ${flavour}: the client does what sdk/conformance.json says of every client`,
    problems.length === 0 && count === wanted,
    problems.join('; ') || `${count} cases`,
  )
}

type Facts = { [name: string]: unknown }

async function factsOf(world: World, python: string, flavour: string, env: Env): Promise<Facts> {
  const thief = await startAnswerThief(Number(new URL(world.daemons[0]?.url as string).port))
  try {
    const run = { env: { ...env, LOCI_STOLEN: thief.url } }
    const { code, stdout, stderr } = await runPython(python, [path.join(TESTS, 'agent.py'), flavour], run)
    return code === 0 ? { ...(JSON.parse(stdout) as Facts), taken: thief.stolen() } : { broke: stderr.slice(-600) }
  } finally {
    thief.close()
  }
}

async function verbs(
  report: Report,
  world: World,
  { version, python }: Installed,
  flavour: string,
  env: Env,
): Promise<void> {
  const facts = await factsOf(world, python, flavour, env)
  const { broke } = facts
  const is = (name: string, ...wanted: unknown[]) => {
    const found = facts[name]
    const same =
      Array.isArray(found) &&
      wanted.every((one, at) => one === ANY || JSON.stringify(found[at]) === JSON.stringify(one))
    return same ? [] : [`${name}: ${JSON.stringify(found ?? null)}`]
  }
  const wrong = [
    ...is('made', 'active', 100, ['place', 'publish', 'confirm']),
    ...is('found', true, true, 'NOT_FOUND', ANY),
    ...is('recalled', true, true, ANY),
    ...is('others', 0, true, ANY),
    ...is('forgotten', 3, 1, true, null, 'NOT_FOUND', true),
    ...is('slots', 'refund order 4411', null, 'VERSION_CONFLICT', 2),
    ...is('cycle', true, true, true),
    ...is('restored', ANY, ANY, true),
    ...is('pages', 150, true, 40, 45),
    ...is('advice', true, false, true),
    ...is('people', true, 'eve', false, true),
    ...is('narrowed', 'Ada lives in Utrecht', 'OPERATION_NOT_ALLOWED', 'DATABASE_MISMATCH'),
    ...is('ending', 'delete', ANY),
  ]
  report.promise(
    `Python ${version}, ${flavour}: each kind of verb does what it says, and is refused where it must be`,
    broke === undefined && wrong.length === 0,
    String(broke ?? (wrong.join('; ') || `13 kinds; why: ${(facts.recalled as unknown[])[2]}`)),
  )
  report.promise(
    `Python ${version}, ${flavour}: a memory whose answer was lost is stored once`,
    facts.taken === 1 && facts.stolen === 1,
    `${facts.taken} answers taken away, ${facts.stolen} memories`,
  )
  report.promise(
    `Python ${version}, ${flavour}: events go on behind a broken connection, each once and none of another user`,
    is('events', WHOLE, 2).length === 0,
    JSON.stringify(facts.events ?? null),
  )
}

/** Each block of its README as a program of its own: it must end well, and print what its `# →` say. */
async function documented(report: Report, { python }: Installed, own: Env): Promise<void> {
  const wrong: string[] = []
  const make = 'from locihq import Loci; print(Loci().services.create("Support agent").ready().id)'
  const env = { ...own, LOCI_SERVICE: (await must(python, ['-c', make], { env: own })).trim() }
  const text = readFileSync(path.join(CLIENT, 'README.md'), 'utf8')
  const blocks = [...text.matchAll(/^```python\n(.*?)^```$/gms)].map(([, block]) => block as string)
  for (const [at, block] of blocks.entries()) {
    const { code, stdout, stderr } = await runPython(python, ['-c', block], { env })
    if (code !== 0) wrong.push(`block ${at + 1} ended with ${code}: ${stderr.slice(-300)}`)
    for (const [, promised] of block.matchAll(/# → (.+)$/gm))
      if (!stdout.includes(promised as string)) wrong.push(`block ${at + 1} printed ${stdout.slice(0, 200)}`)
  }
  report.promise(
    'every block of the README of the Python client runs, and prints what it says',
    blocks.length >= 4 && wrong.length === 0,
    wrong.join('; ') || `${blocks.length} blocks`,
  )
}

/** Of the installed package, with a sabotage; what is on PYTHONPATH comes first. */
async function mutants(report: Report, world: World, place: string, { python }: Installed, env: Env): Promise<void> {
  const where = 'import locihq, os; print(os.path.dirname(locihq.__file__))'
  const whole = (await must(python, ['-c', where])).trim()
  const planted = (name: string, file: string, from: string, to: string) => {
    const folder = path.join(place, 'mutants', name)
    cpSync(whole, path.join(folder, 'locihq'), { recursive: true })
    const target = path.join(folder, 'locihq', file)
    const parts = readFileSync(target, 'utf8').split(from)
    if (parts.length !== 2) throw new Error(`the mutant ${name} no longer applies: its text is not there exactly once`)
    writeFileSync(target, parts.join(to))
    return { ...env, PYTHONPATH: folder }
  }
  const keyless = planted('keyless', 'calls.py', 'fields["idempotency-key"] = ', '_ = ')
  const { stolen } = await factsOf(world, python, 'sync', keyless)
  report.mutant('a retry that sends no key', stolen === 1 || stolen === undefined ? undefined : `${stolen} memories`)

  const forgetful = planted('forgetful', '_async/following.py', '{"last-event-id": last}', '{}')
  const { events } = await factsOf(world, python, 'async', forgetful)
  const isWhole = events === undefined || JSON.stringify((events as unknown[])[0]) === JSON.stringify(WHOLE)
  report.mutant('a stream that begins anew', isWhole ? undefined : JSON.stringify(events))

  const careless = planted('careless', 'calls.py', 'if if_version is not None:', 'if if_version == 99:')
  const { problems } = await caseProblems(python, 'sync', careless)
  report.mutant('a version that is not sent', problems[0])

  const unbound = planted('unbound', 'attenuate.py', "sign(_bytes_of(key['d']), text.encode())", 'bytes(64)')
  const { narrowed, broke } = await factsOf(world, python, 'sync', unbound)
  const isRefused = narrowed === undefined && /CAPABILITY|INVALID|UNAUTHENTICATED/.test(String(broke))
  report.mutant(
    'a link that nobody signed',
    isRefused ? String(broke).trim().split('\n').at(-1)?.slice(0, 120) : undefined,
  )
}

function fileOf(folder: string, ending: string): string {
  const name = readdirSync(folder).find((one) => one.endsWith(ending))
  if (!name) throw new Error(`nothing in ${folder} ends with ${ending}`)
  return path.join(folder, name)
}
