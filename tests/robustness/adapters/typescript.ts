// The adapters of TypeScript: each folder of integrations/typescript that has tests. An adapter brings its tests
// (node:test, `tests/<name>.ts`, with what they share beside them), a README that shows example.ts, and one lock for
// each version of its framework (locks/<which>/). It is installed as a user has it: from its tarball and that of the
// client, into a folder of its own. What is private is an example, with nothing of ours beside the client.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { run } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Loci } from '@loci/sdk/loci.ts'
import type { Report } from '../../world/report.ts'
import { addOrganization } from '../../world/tenants.ts'
import type { World } from '../../world/world.ts'
import { publintProblems, typeProblems } from '../published.ts'
import type { Row, Served } from './adapters.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const HOME = path.join(ROOT, 'integrations/typescript')
const TSC = path.join(ROOT, 'node_modules/typescript/bin/tsc')
const LINES_MAX = 150
const NEWEST = 'newest'
/** A guard against what hangs. */
const TEST_MS_MAX = 300_000

export interface NodeAdapter {
  name: string
  folder: string
  /** The newest first. */
  locks: string[]
  isPublished: boolean
}

/** As tests/mutants.json has them: the test that it names must fail. */
interface Mutant {
  what: string
  from: string
  to: string
  test: string
}

interface Setting {
  report: Report
  world: World
  place: string
  isShort: boolean
}

interface Installed {
  adapter: NodeAdapter
  lock: string
  folder: string
  /** The framework with its version. */
  title: string
}

export function findNodeAdapters(): NodeAdapter[] {
  if (!existsSync(HOME)) return []
  const folders = readdirSync(HOME).filter((name) => existsSync(path.join(HOME, name, 'tests')))
  return folders.map((name) => {
    const folder = path.join(HOME, name)
    const locks = readdirSync(path.join(folder, 'locks')).toSorted((a, b) => rank(a) - rank(b))
    const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { private?: boolean }
    return { name, folder, locks, isPublished: !manifest.private }
  })
}

const rank = (lock: string) => (lock === NEWEST ? 0 : 1)

/** Rows of all of them; with `isShort` of the newest frameworks alone, and nothing but their tests. */
export async function runNodeAdapters(adapters: NodeAdapter[], setting: Setting): Promise<Row[]> {
  if (adapters.length === 0) return []
  const dist = path.join(setting.place, 'typescript-dist')
  const build = ['--disable-warning=ExperimentalWarning', 'scripts/build.ts', 'sdk', 'adapters', '--out', dist]
  execFileSync(process.execPath, build, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  const rows: Row[] = []
  for (const adapter of adapters) {
    if (adapter.isPublished && !setting.isShort) await wellMade(setting.report, path.join(dist, 'adapters'), adapter)
    for (const lock of setting.isShort ? adapter.locks.slice(0, 1) : adapter.locks)
      rows.push(await runLock(setting, install(setting, dist, adapter, lock)))
  }
  return rows
}

async function runLock({ report, world, isShort }: Setting, installed: Installed): Promise<Row> {
  const { adapter, lock, title } = installed
  const serve = (name: string) => newService(world, `${adapter.name} ${lock} ${name}`)
  const { env } = await serve('tests')
  const lines = await runTests(installed, env)
  for (const { name, problem } of lines) report.promise(`${title}: ${name}`, problem === undefined, problem ?? 'ok')
  if (lines.length === 0) report.promise(`${title}: has tests`, false, 'none')
  if (!isShort) compiled(report, installed)
  documented(report, installed, (await serve('README')).env)
  if (!isShort && lock === NEWEST) await mutants(report, installed, env)
  const [framework = '', version = ''] = title.split(' ')
  const failed = lines.filter(({ problem }) => problem !== undefined).length
  return { framework, version, runtime: `Node ${process.versions.node}`, passed: lines.length - failed, failed }
}

async function newService(world: World, name: string): Promise<Served> {
  const { apiKey } = await addOrganization(world, name)
  const url = world.management?.url as string
  const { id } = await new Loci({ url, apiKey }).services.create({ name }).ready()
  return { env: { LOCI_URL: url, LOCI_API_KEY: apiKey, LOCI_SERVICE: id as string } }
}

/** By its lock, from the cache where that has everything; then the tarballs, whose peers must be what is there. */
function install({ place }: Setting, dist: string, adapter: NodeAdapter, lock: string): Installed {
  const folder = path.join(place, `typescript-${adapter.name}-${lock}`)
  mkdirSync(folder)
  const from = path.join(adapter.folder, 'locks', lock)
  for (const file of ['package.json', 'package-lock.json']) cpSync(path.join(from, file), path.join(folder, file))
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  cached(folder, ['ci', ...quiet])
  const tarballs = [path.join(dist, tarballOf(dist, 'sdk'))]
  const adapters = path.join(dist, 'adapters')
  if (adapter.isPublished) tarballs.push(path.join(adapters, tarballOf(adapters, adapter.name)))
  cached(folder, ['install', '--no-save', '--strict-peer-deps', ...quiet, ...tarballs])
  cpSync(path.join(adapter.folder, 'tests'), path.join(folder, 'tests'), { recursive: true })
  const { dependencies } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>
  }
  // The first of the dependencies is the framework.
  const [framework = ['', '']] = Object.entries(dependencies)
  return { adapter, lock, folder, title: framework.join(' ') }
}

const tarballOf = (dist: string, name: string) =>
  readdirSync(dist).find((file) => file.startsWith(`locihq-${name}-`) && file.endsWith('.tgz')) as string

/**
 * From npm's cache alone, and with what is missing there otherwise: after `npm ci` a fresh cache has the packages of a
 * lock and not what the registry says of them, without which npm takes every peer for unfit.
 */
function cached(folder: string, args: string[]): void {
  if (npm(folder, [...args, '--offline']).status !== 0) must(npm(folder, [...args, '--prefer-offline']))
}

function npm(cwd: string, args: string[]) {
  return spawnSync('npm', args, { cwd, encoding: 'utf8' })
}

function must({ status, stdout, stderr }: { status: number | null; stdout: string; stderr: string }): void {
  if (status !== 0) throw new Error(`npm ended with ${status}: ${(stderr + stdout).slice(0, 800)}`)
}

interface Line {
  name: string
  problem: string | undefined
}

type Event = { type: string; data: { name: string; file?: string; details: { error?: Error } } }

async function runTests(
  { adapter, folder }: Installed,
  env: { [name: string]: string },
  only?: string,
): Promise<Line[]> {
  const stream = run({
    files: [path.join(folder, 'tests', `${adapter.name}.ts`)],
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    timeout: TEST_MS_MAX,
    // A framework may keep its process open after all tests: @mastra/mcp 1 does.
    execArgv: ['--test-force-exit'],
    ...(only ? { testNamePatterns: [new RegExp(`^${only.replaceAll(/[^\w\s]/g, '.')}$`)] } : {}),
  })
  const lines: Line[] = []
  for await (const { type, data } of stream as AsyncIterable<Event>) {
    const isFile = data.name === data.file
    if (type === 'test:fail') {
      const { error } = data.details
      const cause = error?.cause instanceof Error ? error.cause.message : error?.message
      lines.push({ name: isFile ? 'the file ends well' : data.name, problem: (cause ?? 'failed').slice(0, 600) })
    } else if (type === 'test:pass' && !isFile) lines.push({ name: data.name, problem: undefined })
  }
  return lines
}

/** Strictly, against the installed framework: the adapter from its source, the example from the declarations. */
function compiled(report: Report, { adapter, folder, title }: Installed): void {
  const files = ['example.ts', ...(adapter.isPublished ? [`${adapter.name}.ts`] : [])]
  for (const file of files) cpSync(path.join(adapter.folder, file), path.join(folder, file))
  for (const file of readdirSync(path.join(folder, 'tests')))
    if (file !== `${adapter.name}.ts` && file.endsWith('.ts'))
      cpSync(path.join(folder, 'tests', file), path.join(folder, file))
  const flags = ['--strict', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
  const target = ['--noEmit', '--target', 'es2024', '--module', 'nodenext', '--skipLibCheck']
  const types = [
    '--allowImportingTsExtensions',
    '--types',
    'node',
    '--typeRoots',
    path.join(ROOT, 'node_modules/@types'),
  ]
  const args = [TSC, '--ignoreConfig', ...flags, ...target, ...types, ...files]
  const { status, stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  const figure = status === 0 ? files.join(', ') : stdout.slice(0, 600)
  report.promise(`${title}: the adapter and its example compile strictly`, status === 0, figure)
}

/** The first block of the README is example.ts, and each block ends well and prints what its `// →` say. */
function documented(report: Report, { adapter, folder, title }: Installed, env: { [name: string]: string }): void {
  const text = readFileSync(path.join(adapter.folder, 'README.md'), 'utf8')
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block as string)
  const wrong: string[] = []
  if (blocks[0] !== readFileSync(path.join(adapter.folder, 'example.ts'), 'utf8'))
    wrong.push('the first block is not example.ts')
  for (const [at, block] of blocks.entries()) {
    // Where the tests are: what they share stands in for what a user has, such as a model.
    writeFileSync(path.join(folder, 'tests', `block-${at}.ts`), block)
    const variables = { PATH: process.env.PATH, HOME: folder, ...env }
    const args = ['--disable-warning=ExperimentalWarning', path.join('tests', `block-${at}.ts`)]
    const ran = spawnSync(process.execPath, args, { cwd: folder, env: variables, encoding: 'utf8', timeout: 120_000 })
    if (ran.status !== 0) wrong.push(`block ${at + 1} ended with ${ran.status}: ${ran.stderr.slice(0, 600)}`)
    for (const [, promised] of block.matchAll(/\/\/ → (.+)$/gm))
      if (!ran.stdout.includes(promised as string)) wrong.push(`block ${at + 1} printed ${ran.stdout.slice(0, 300)}`)
  }
  const isShown = blocks.length > 0 && wrong.length === 0
  report.promise(`${title}: its README shows example.ts, which prints what it says`, isShown, wrong.join('; ') || 'ok')
}

async function wellMade(report: Report, dist: string, { name, folder }: NodeAdapter): Promise<void> {
  const built = path.join(dist, name)
  const wrong = [...(await publintProblems(built)), ...(await typeProblems(built))]
  const lines = readFileSync(path.join(folder, `${name}.ts`), 'utf8')
    .replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
    .split('\n')
    .filter((line) => !/^\s*(?:\/\/.*)?$/.test(line)).length
  if (lines > LINES_MAX) wrong.push(`${lines} lines of code, at most ${LINES_MAX}`)
  const figure = wrong.join('; ') || `${lines} lines of code`
  report.promise(
    `${name}: publint and attw have nothing to say of its package, which is small`,
    wrong.length === 0,
    figure,
  )
}

/** Of the installed package, with a sabotage. */
async function mutants(report: Report, installed: Installed, env: { [name: string]: string }): Promise<void> {
  const { adapter, folder, title } = installed
  const list = path.join(adapter.folder, 'tests/mutants.json')
  if (!existsSync(list)) return
  const target = path.join(folder, 'node_modules/@locihq', adapter.name, `${adapter.name}.js`)
  const whole = readFileSync(target, 'utf8')
  for (const { what, from, to, test } of JSON.parse(readFileSync(list, 'utf8')) as Mutant[]) {
    const parts = whole.split(from)
    if (parts.length !== 2)
      throw new Error(`the mutant '${what}' no longer applies: its text is not there exactly once`)
    writeFileSync(target, parts.join(to))
    const lines = await runTests(installed, env, test)
    writeFileSync(target, whole)
    // A test that did not run caught nothing.
    if (lines.length === 0) throw new Error(`the mutant '${what}': there is no test '${test}'`)
    const caught = lines.find(({ problem }) => problem !== undefined)
    report.mutant(`${title}: ${what}`, caught?.problem?.split('\n').find(Boolean)?.slice(0, 120))
  }
}
