// The adapters of Python: each folder of integrations/python that has a pyproject.toml. An adapter brings its tests
// (unittest, in tests/), a README that shows example.py, and one lock for each version of its framework (locks/*.txt,
// made from the .in beside it, whose first line names the framework).

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Report } from '../../world/report.ts'
import { must, type Python, runPython } from '../python-environments.ts'
import type { Count, Row, Served } from './adapters.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const HOME = path.join(ROOT, 'integrations/python')
const RUNNER = path.join(import.meta.dirname, 'unittest_lines.py')
/** Without imports, comments and blank lines: what needs more, with await and without, is a library. */
const LINES_MAX = 190
const NEWEST = 'newest'

export interface Adapter {
  name: string
  folder: string
  locks: string[]
}

/** What is the same for all of them. */
export interface Setting {
  place: string
  python: Python
  /** The Python that has the tools of clients/python/requirements-dev.txt. */
  tools: string
  /** The wheel of locihq. */
  client: string
  isShort: boolean
}

interface Line {
  name: string
  problem: string | null
  skipped: string | null
}

/** As tests/mutants.json has them: the test that it names must fail. */
interface Mutant {
  what: string
  file: string
  from: string
  to: string
  test: string
}

export function findAdapters(): Adapter[] {
  if (!existsSync(HOME)) return []
  return readdirSync(HOME)
    .filter((name) => existsSync(path.join(HOME, name, 'pyproject.toml')))
    .map((name) => {
      const folder = path.join(HOME, name)
      const locks = readdirSync(path.join(folder, 'locks')).filter((file) => file.endsWith('.txt'))
      // The newest first.
      return { name, folder, locks: locks.map((file) => file.slice(0, -4)).sort((a, b) => rank(a) - rank(b)) }
    })
}

const rank = (lock: string) => (lock === NEWEST ? 0 : 1)

/** One row for each version of its framework; with `isShort` the newest alone, and nothing but its tests. */
export async function runAdapter(
  { name, folder, locks }: Adapter,
  { report, serve, ...setting }: Setting & { report: Report; serve: Serve },
): Promise<Row[]> {
  const [, needed = '0'] = /^requires-python = ">=3\.(\d+)"$/m.exec(read(folder, 'pyproject.toml')) ?? []
  if (Number(setting.python.version.split('.')[1]) < Number(needed)) {
    report.skip(`the adapter ${name}`, `it needs Python 3.${needed}, and ${setting.python.version} is here`)
    return []
  }
  const wheel = await buildWheel(setting.tools, folder, path.join(setting.place, `${name}-dist`))
  const rows: Row[] = []
  for (const lock of setting.isShort ? locks.slice(0, 1) : locks) {
    const python = await install(setting, { name, folder, lock, wheels: [setting.client, wheel] })
    const framework = frameworkOf(folder, lock)
    const row = { framework, version: await versionOf(python, framework), runtime: `Python ${setting.python.version}` }
    const title = `${framework} ${row.version}`
    const { env } = await serve(python, `${name} ${lock}`)
    const { lines, said } = await runTests(setting.place, { python, folder, env })
    const count: Count = { passed: 0, failed: 0 }
    for (const line of lines) {
      if (line.skipped !== null) report.skip(`${title}: ${line.name}`, line.skipped)
      else report.promise(`${title}: ${line.name}`, line.problem === null, line.problem ?? 'ok')
      if (line.skipped === null) count[line.problem === null ? 'passed' : 'failed'] += 1
    }
    if (lines.length === 0) report.promise(`${title}: has tests`, false, said.slice(-800))
    rows.push({ ...row, ...count })
    await documented(report, title, { python, folder, env: (await serve(python, `${name} ${lock} README`)).env })
    if (lock !== NEWEST || setting.isShort) continue
    await checked(report, title, { ...setting, python, folder })
    await mutants(report, title, { place: setting.place, python, name, folder, env })
  }
  return rows
}

const read = (...at: string[]) => readFileSync(path.join(...at), 'utf8')

export type Serve = (python: string, name: string) => Promise<Served>

export async function buildWheel(tools: string, folder: string, dist: string): Promise<string> {
  mkdirSync(dist, { recursive: true })
  await must(tools, ['-c', 'import flit_core.buildapi as b, sys; b.build_wheel(sys.argv[1])', dist], { cwd: folder })
  const wheel = readdirSync(dist).find((file) => file.endsWith('.whl'))
  if (!wheel) throw new Error(`${folder} made no wheel`)
  return path.join(dist, wheel)
}

interface Lock {
  name: string
  folder: string
  lock: string
  wheels: string[]
}

async function install({ place, python, tools }: Setting, { name, folder, lock, wheels }: Lock): Promise<string> {
  const environment = path.join(place, `${name}-${lock}`)
  const uv = (...args: string[]) => must(tools, ['-m', 'uv', '--quiet', ...args])
  await uv('venv', '--python', python.program, environment)
  const own = path.join(environment, 'bin/python')
  const requirements = path.join(folder, 'locks', `${lock}.txt`)
  await uv('pip', 'install', '--python', own, '--require-hashes', '--only-binary', ':all:', '-r', requirements)
  await uv('pip', 'install', '--python', own, '--no-deps', '--no-index', ...wheels)
  await uv('pip', 'check', '--python', own)
  return own
}

function frameworkOf(folder: string, lock: string): string {
  const text = read(folder, 'locks', `${lock}.in`)
  const [name = ''] = /^[\w.-]+/m.exec(text.replaceAll(/^#.*$/gm, '').trim()) ?? []
  return name
}

async function versionOf(python: string, framework: string): Promise<string> {
  const version = await must(python, [
    '-c',
    `import importlib.metadata as m; print(m.version(${JSON.stringify(framework)}))`,
  ])
  return version.trim()
}

interface Installed {
  python: string
  folder: string
  env: { [name: string]: string }
}

async function runTests(
  place: string,
  { python, folder, env }: Installed,
  ...names: string[]
): Promise<{ lines: Line[]; said: string }> {
  const written = path.join(place, 'lines.ndjson')
  writeFileSync(written, '')
  const { stdout, stderr } = await runPython(python, [RUNNER, written, path.join(folder, 'tests'), ...names], { env })
  const lines = readFileSync(written, 'utf8').split('\n').filter(Boolean)
  return { lines: lines.map((line) => JSON.parse(line) as Line), said: stderr + stdout }
}

/** The first block of the README is example.py, and each block ends well and prints what its `# →` say. */
async function documented(report: Report, title: string, { python, folder, env }: Installed): Promise<void> {
  const text = read(folder, 'README.md')
  const blocks = [...text.matchAll(/^```python\n(.*?)^```$/gms)].map(([, block]) => block as string)
  const wrong: string[] = []
  if (blocks[0] !== read(folder, 'example.py')) wrong.push('the first block is not example.py')
  for (const [at, block] of blocks.entries()) {
    const { code, stdout, stderr } = await runPython(python, ['-c', block], { env })
    if (code !== 0) wrong.push(`block ${at + 1} ended with ${code}: ${stderr.slice(-600)}`)
    for (const [, promised] of block.matchAll(/# → (.+)$/gm))
      if (!stdout.includes(promised as string)) wrong.push(`block ${at + 1} printed ${stdout.slice(0, 300)}`)
  }
  const isShown = blocks.length > 0 && wrong.length === 0
  report.promise(`${title}: its README shows example.py, which prints what it says`, isShown, wrong.join('; ') || 'ok')
}

async function checked(
  report: Report,
  title: string,
  { tools, python, folder, place }: Omit<Setting, 'python'> & { folder: string; python: string },
): Promise<void> {
  const settings = path.join(place, 'pyrightconfig.json')
  // Pyright leaves out, with no more than a warning, what is not named relative to its settings.
  const include = ['src', 'tests', 'example.py'].map((name) => path.relative(place, path.join(folder, name)))
  const typeCheckingMode = 'standard'
  writeFileSync(settings, JSON.stringify({ include, extraPaths: [path.join(folder, 'src')], typeCheckingMode }))
  const env = { RUFF_NO_CACHE: 'true', MYPY_CACHE_DIR: path.join(place, 'mypy'), PYRIGHT_PYTHON_IGNORE_WARNINGS: '1' }
  const calls = [
    ['ruff', 'check', '.'],
    ['ruff', 'format', '--check', '.'],
    ['mypy', '--strict', '--config-file=', '--python-executable', python, 'src', 'tests', 'example.py'],
    ['pyright', '--pythonpath', python, '--project', settings],
  ]
  const wrong: string[] = []
  for (const call of calls) {
    const { code, stdout, stderr } = await runPython(tools, ['-m', ...call], { cwd: folder, env })
    if (code !== 0) wrong.push(`${call[0]}: ${(stdout + stderr).slice(-1_500)}`)
  }
  report.promise(`${title}: ruff, mypy --strict and pyright say nothing`, wrong.length === 0, wrong.join('; ') || 'ok')

  const lines = readdirSync(path.join(folder, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.py'))
    .map((name) => read(folder, 'src', name).replaceAll(/"""[\s\S]*?"""/g, ''))
    .flatMap((text) => text.split('\n').filter((line) => !/^\s*(?:#.*|(?:from|import) .*)?$/.test(line))).length
  report.promise(`${title}: at most ${LINES_MAX} lines of code`, lines <= LINES_MAX, `${lines}`)
}

/** Of the installed package, with a sabotage; what is on PYTHONPATH comes first. */
async function mutants(
  report: Report,
  title: string,
  { place, name, ...installed }: Installed & { place: string; name: string },
): Promise<void> {
  const list = path.join(installed.folder, 'tests/mutants.json')
  const planned = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as Mutant[]) : []
  for (const [at, { what, file, from, to, test }] of planned.entries()) {
    const sources = path.join(place, 'mutants', `${name}-${at}`)
    cpSync(path.join(installed.folder, 'src'), sources, { recursive: true })
    const target = path.join(sources, file)
    const parts = readFileSync(target, 'utf8').split(from)
    if (parts.length !== 2)
      throw new Error(`the mutant '${what}' no longer applies: its text is not there exactly once`)
    writeFileSync(target, parts.join(to))
    const env = { ...installed.env, PYTHONPATH: sources }
    const { lines, said } = await runTests(place, { ...installed, env }, test)
    const caught = lines.find(({ problem }) => problem !== null)
    // A test that did not run caught nothing.
    if (lines.length === 0) throw new Error(`the mutant '${what}': ${test} did not run: ${said.slice(-600)}`)
    report.mutant(`${title}: ${what}`, caught?.problem?.trim().split('\n').at(-1)?.slice(0, 120))
  }
}
