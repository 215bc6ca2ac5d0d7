// The published packages from their tarballs, in empty folders: the client under each Node that it names, types for who
// compiles against it, and both programs on a real PostgreSQL, without any TypeScript.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { Loci } from '@loci/sdk/loci.ts'
import { publintProblems, typeProblems } from '../robustness/published.ts'
import { bringNode, OLDER_NODES } from '../world/node-versions.ts'
import { NODE_FLAGS, programsAt } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { startWorld } from '../world/world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const IS_SHORT = process.argv.includes('--short')
const SDK_BYTES_MAX = 500_000

/** What somebody writes who has the client from the registry. */
const USER = `import { Loci, LociError, type Hit, type Progress } from '@locihq/sdk'
import { fakeLoci } from '@locihq/sdk/testing'

const loci = new Loci({ url: 'http://127.0.0.1:4400', apiKey: 'loci_sk_x' })
const service = await loci.services.create({ name: 'Mine' }).ready({ onProgress: ({ percent }: Progress) => console.log(percent) })
const ada = service.user('ada')
const fake: Loci['services'] = fakeLoci().services
console.log(fake)
const stored = await ada.remember('Ada prefers replies in Dutch', { tags: ['preference'] })
const hits: Hit[] = await ada.recall('which language?', { limit: 3 })
const why: string | undefined = hits[0]?.why
for await (const { key, value } of ada.kv.list({ prefix: 'a/' })) console.log(key, value, why, stored.id)
for await (const event of ada.events({ signal: AbortSignal.timeout(1_000) })) console.log(event.type)
try {
  await ada.forget(stored)
} catch (error) {
  if (error instanceof LociError && error.code === 'NOT_FOUND') console.log(error.hint, error.requestId)
}
`

const AGENT = `import { Loci, LociError } from '@locihq/sdk'

const loci = new Loci()
const service = await loci.services.create({ name: 'Agent ' + process.version }).ready()
const ada = service.user('ada')
const seen = []
const stop = new AbortController()
let standing
const stands = new Promise((resolve) => { standing = resolve })
const following = (async () => {
  for await (const { type } of ada.events({ signal: stop.signal, onOpen: standing })) {
    seen.push(type)
    if (type === 'slot.written') break
  }
})()
await stands
await ada.remember('Ada prefers replies in Dutch')
const [hit] = await ada.recall('which language for Ada?')
await ada.slots.put('goal', 'answer Ada')
await ada.kv.put('seen', 1)
await following
const refused = await ada.slots.put('goal', 'other', { ifVersion: 99 }).catch((error) => error instanceof LociError && error.code)
console.log(JSON.stringify({ content: hit.content, why: hit.why, goal: (await ada.slots.get('goal')).value, seen, refused }))
`

await reportOn(async (report) => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-packages-'))
  try {
    const dist = path.join(place, 'dist')
    const build = ['--disable-warning=ExperimentalWarning', 'scripts/build.ts', '--out', dist]
    execFileSync(process.execPath, build, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
    const tarballs = readdirSync(dist).filter((name) => name.endsWith('.tgz'))
    for (const tarball of tarballs) await wellMade(report, dist, tarball)
    await typesAreRight(report, dist)
    const client = installed(report, place, 'client', dist, ['sdk'])
    compiled(report, client)
    const server = installed(report, place, 'server', dist, ['server', 'cli'])
    startsCheaper(report, server)
    startsBounded(report, server)
    await served(report, client, server)
    helpsAlone(report, server)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

interface Manifest {
  name: string
  dependencies?: Record<string, string>
}

async function wellMade(report: Report, dist: string, tarball: string): Promise<void> {
  const folder = path.join(dist, /^locihq-(\w+)-/.exec(tarball)?.[1] as string)
  const messages = await publintProblems(folder)
  const pkg = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Manifest
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const typescript = files.filter((name) => /(?<!\.d)\.ts$/.test(name))
  const workspaces = files.filter(
    (name) => /\.(?:c?js|d\.ts)$/.test(name) && /(['"])@loci\//.test(readFileSync(path.join(folder, name), 'utf8')),
  )
  const ranges = Object.values(pkg.dependencies ?? {}).filter((one) => !/^\d/.test(one))
  report.promise(
    `${pkg.name}: publint has nothing to say; no TypeScript, no name of a workspace, exact versions`,
    messages.length + typescript.length + workspaces.length + ranges.length === 0,
    [...messages, ...typescript, ...workspaces, ...ranges].join('; ') ||
      `${Math.round(statSync(path.join(dist, tarball)).size / 1_000)} KB packed, ${files.length} files`,
  )
  if (pkg.name !== '@locihq/sdk') return
  const bytes = files.reduce((sum, name) => sum + sizeOf(path.join(folder, name)), 0)
  report.promise(
    'the client has no dependency and is small',
    Object.keys(pkg.dependencies ?? {}).length === 0 && bytes <= SDK_BYTES_MAX,
    `${Object.keys(pkg.dependencies ?? {}).length} dependencies, ${Math.round(bytes / 1_000)} KB of ${SDK_BYTES_MAX / 1_000}`,
  )
}

async function typesAreRight(report: Report, dist: string): Promise<void> {
  const whole = path.join(dist, 'whole')
  cpSync(path.join(dist, 'sdk'), whole, { recursive: true })
  const found = await typeProblems(whole)
  report.promise(
    'the types of the client are what its imports resolve to',
    found.length === 0,
    found.join() || 'attw: clean',
  )
  const broken = path.join(dist, 'broken')
  cpSync(path.join(dist, 'sdk'), broken, { recursive: true })
  const file = path.join(broken, 'node.d.ts')
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(".js'", "'"))
  const given = await typeProblems(broken)
  report.mutant('types whose imports have no ending', given.length > 0 ? `${given.length} ${given[0]}` : undefined)
}

/** Into a folder of its own, from the cache where it has everything, else with the registry. */
function installed(report: Report, place: string, name: string, dist: string, packages: string[]): string {
  const folder = path.join(place, name)
  mkdirSync(folder)
  writeFileSync(path.join(folder, 'package.json'), '{"type":"module","private":true}\n')
  const files = packages.map((one) => path.join(dist, `locihq-${one}-${version()}.tgz`))
  // PostgreSQL for `loci up` is optional, and 60 MB.
  const install = ['install', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund', '--loglevel=error']
  const startedAt = performance.now()
  const offline = spawnSync('npm', [...install, '--offline', ...files], { cwd: folder, encoding: 'utf8' })
  if (offline.status !== 0) npm(folder, [...install, '--prefer-offline', ...files])
  const count = readdirSync(path.join(folder, 'node_modules')).length
  report.promise(
    `${packages.join(' and ')}: the tarball installs into an empty folder`,
    count > 0,
    `${count} entries, ${offline.status === 0 ? 'offline' : 'with the registry'}, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
  )
  return folder
}

function compiled(report: Report, folder: string): void {
  const compile = (text: string, module: string, resolution: string) => {
    writeFileSync(path.join(folder, 'user.ts'), text)
    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
    const flags = ['--strict', '--noEmit', '--target', 'es2022', '--module', module, '--moduleResolution', resolution]
    return spawnSync(process.execPath, [tsc, ...flags, 'user.ts'], { cwd: folder, encoding: 'utf8' })
  }
  for (const [module, resolution] of [
    ['esnext', 'bundler'],
    ['nodenext', 'nodenext'],
  ] as const) {
    const { status, stdout } = compile(USER, module, resolution)
    report.promise(
      `a program of a user compiles strictly with moduleResolution ${resolution}`,
      status === 0,
      status === 0 ? 'no error' : stdout.slice(0, 400),
    )
  }
  const { status, stdout } = compile(USER.replace('limit: 3', 'limits: 3'), 'nodenext', 'nodenext')
  report.mutant('a field that no call takes', status === 0 ? undefined : /TS\d+.*'limits'/.exec(stdout)?.[0])
}

/** By its name alone, as an image and a chart start it. */
function startsBounded(report: Report, folder: string): void {
  const told = 'process.stderr.write(JSON.stringify(process.execArgv))'
  const env = {
    PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`,
    NODE_OPTIONS: `--import=data:text/javascript,${told}`,
  }
  for (const program of ['daemon', 'management'] as const) {
    const file = path.join(folder, `node_modules/.bin/loci-${program}`)
    const { stderr } = spawnSync(file, ['--help'], { env, cwd: folder, encoding: 'utf8' })
    report.promise(
      `loci-${program} of the package runs with the flags of install.md, which bound its memory`,
      stderr === JSON.stringify(NODE_FLAGS[program]),
      stderr,
    )
  }
}

/** What a program spends until it has said its help: every module is loaded, and nothing is done. */
function startsCheaper(report: Report, folder: string): void {
  const rounds = IS_SHORT ? 3 : 9
  const meter = path.join(folder, 'meter.cjs')
  writeFileSync(
    meter,
    "process.on('exit', () => { const { user, system } = process.cpuUsage(); require('fs').writeSync(3, String(user + system)) })\n",
  )
  // No compile cache for either.
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' }
  const spentMs = (file: string) => {
    const { output, status } = spawnSync(process.execPath, ['--require', meter, file, '--help'], {
      env,
      cwd: ROOT,
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`${file} --help ended with ${status}`)
    return Number(output[3]) / 1_000
  }
  const median = (file: string) =>
    Array.from({ length: rounds }, () => spentMs(file)).toSorted((a, b) => a - b)[Math.floor(rounds / 2)] as number
  for (const program of ['daemon', 'management'] as const) {
    const [own, packed] = [median(`${program}/main.ts`), median(fileOf(folder, program))]
    report.promise(
      `${program} of the package starts in less processor time than that of the checkout`,
      packed < own,
      `${packed.toFixed(0)} ms instead of ${own.toFixed(0)} ms, medians of ${rounds}`,
    )
  }
}

async function served(report: Report, client: string, server: string): Promise<void> {
  const programs = programsAt({ daemon: fileOf(server, 'daemon'), management: fileOf(server, 'management') })
  const world = await startWorld({ replicas: 1, programs })
  try {
    const { stdout, code, stderr } = await programs.runCommand(
      'management',
      ['bootstrap', '--owner-email', 'ada@example.com'],
      world.managementSettings(),
    )
    if (code !== 0) throw new Error(`bootstrap ended with ${code}: ${stderr}`)
    const env = { LOCI_URL: world.management?.url as string, LOCI_API_KEY: JSON.parse(stdout).api_key as string }
    writeFileSync(path.join(client, 'agent.js'), AGENT)
    const nodes = [{ version: process.versions.node, node: process.execPath }]
    for (const version of IS_SHORT ? OLDER_NODES.slice(0, 1) : OLDER_NODES) {
      const brought = bringNode(version)
      if ('node' in brought) nodes.push({ version, node: brought.node })
      else report.skip(`the client under Node ${version}`, brought.missing)
    }
    documented(report, client, { ...env, LOCI_SERVICE: await newService(env) })
    for (const { version, node } of nodes) {
      const ran = spawnSync(node, ['agent.js'], { cwd: client, env, encoding: 'utf8', timeout: 120_000 })
      const said = ran.status === 0 ? (JSON.parse(ran.stdout) as { [name: string]: unknown }) : {}
      report.promise(
        `under Node ${version} an agent of the package's client remembers, recalls and follows what the package's server says`,
        said.content === 'Ada prefers replies in Dutch' &&
          said.goal === 'answer Ada' &&
          said.refused === 'VERSION_CONFLICT',
        ran.status === 0 ? ran.stdout.trim() : `ended with ${ran.status ?? ran.signal}: ${ran.stderr.slice(-300)}`,
      )
    }
    // CI has it as a stage of its own, with the Node of this checkout.
    if (!IS_SHORT) exampleRuns(report, client, env, nodes)
  } finally {
    await world.stop()
  }
}

function exampleRuns(
  report: Report,
  client: string,
  env: Record<string, string>,
  nodes: { version: string; node: string }[],
): void {
  const folder = path.join(client, 'support-agent')
  cpSync(path.join(ROOT, 'examples/support-agent'), folder, { recursive: true })
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', '.'], { cwd: folder, encoding: 'utf8' })
  report.promise(
    'the example compiles strictly against the installed tarball, by settings of its own',
    status === 0,
    status === 0 ? 'no error' : stdout.slice(0, 400),
  )
  for (const { version, node } of nodes) {
    const ran = spawnSync(node, ['dist/main.js'], { cwd: folder, env, encoding: 'utf8', timeout: 300_000 })
    const last = ran.stdout.trimEnd().split('\n').at(-1) ?? ''
    report.promise(
      `under Node ${version} the support agent of the examples runs its 300 turns`,
      ran.status === 0 && last.startsWith('300 turns, '),
      ran.status === 0 ? last : `ended with ${ran.status ?? ran.signal}: ${ran.stderr.slice(-300)}`,
    )
  }
}

async function newService({ LOCI_URL: url, LOCI_API_KEY: apiKey }: { LOCI_URL: string; LOCI_API_KEY: string }) {
  const { id } = await new Loci({ url, apiKey }).services.create({ name: 'Documented' }).ready()
  return id as string
}

/** The blocks of both READMEs, each as a program of its own: it must end well, and print what its `// →` say. */
function documented(report: Report, client: string, env: Record<string, string>): void {
  const text = [path.join(client, 'node_modules/@locihq/sdk/README.md'), path.join(ROOT, 'README.md')]
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')
  const wrong: string[] = []
  const blocks = [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map(([, block]) => block as string)
  // Each twice, as a program that is started again: an agent must not take its own questions for answers.
  for (const [at, block] of [...blocks, ...blocks].entries()) {
    writeFileSync(path.join(client, `block-${at}.ts`), block)
    const ran = spawnSync(process.execPath, [`block-${at}.ts`], {
      cwd: client,
      env,
      encoding: 'utf8',
      timeout: 120_000,
    })
    if (ran.status !== 0) wrong.push(`block ${at + 1} ended with ${ran.status}: ${ran.stderr.slice(-300)}`)
    for (const [, promised] of block.matchAll(/\/\/ → (.+)$/gm))
      if (!ran.stdout.includes(promised as string)) wrong.push(`block ${at + 1} printed ${ran.stdout.slice(0, 200)}`)
  }
  report.promise(
    'every block of the client’s README and of README.md runs, twice, and prints what it says',
    blocks.length >= 4 && wrong.length === 0,
    wrong.join('; ') || `${blocks.length} blocks`,
  )
}

/** The last test of the folder: it takes the server away. */
function helpsAlone(report: Report, folder: string): void {
  const loci = path.join(folder, 'node_modules/.bin/loci')
  rmSync(path.join(folder, 'node_modules/@locihq/server'), { recursive: true })
  const help = spawnSync(loci, ['--help'], { encoding: 'utf8' })
  report.promise(
    'the command of the package says its help where there is no server',
    help.status === 0 && /memory/.test(help.stdout),
    `${help.stdout.split('\n').length} lines of help ${help.stderr.slice(0, 200)}`,
  )
}

function fileOf(folder: string, program: string): string {
  return path.join(folder, 'node_modules/@locihq/server/bin', `loci-${program}.cjs`)
}

function version(): string {
  return (JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as { version: string }).version
}

function sizeOf(file: string): number {
  const found = statSync(file)
  return found.isFile() ? found.size : 0
}

function npm(cwd: string, args: string[]): string {
  return execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
