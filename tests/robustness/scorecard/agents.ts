// Checks 30 to 36: what agents and programs get.

import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { open } from '@loci/chassis/probes.ts'
import { route } from '@loci/chassis/route.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { healthResponse } from '@loci/contract/health.ts'
import { Loci } from '@loci/sdk/loci.ts'
import { publintProblems, typeProblems } from '../published.ts'
import { startChromium, whyNoChromium } from '../signin/chromium.ts'
import {
  another,
  type Check,
  dataOf,
  own,
  type Setting,
  scratch,
  secretOf,
  type UpData,
  type Verdict,
} from './setting.ts'

const ROOT = path.resolve(import.meta.dirname, '../../..')
const TOOLS_MAX = 8
const TOOLS_BYTES_MAX = 6 * 1024
/** 25,000 tokens even where a token is two bytes. */
const RESULT_BYTES_MAX = 50_000
const SDK_BYTES_MAX = 500_000
const QUESTION = 'which parcel came late to the north gate?'
const CLIENTS = ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex']

export const AGENTS: readonly Check[] = [
  {
    number: 30,
    title: 'a token: shown once; listed with prefix, scopes, end, last use; rotated, narrowed',
    measure: token,
  },
  {
    number: 31,
    title: `tools/list: at most ${TOOLS_MAX} tools and ${TOOLS_BYTES_MAX / 1024} KB, every description begins with Use`,
    async measure({ loci }) {
      const { tools } = await dataOf<{ tools: Tool[] }>(loci, ['mcp', 'tools'])
      const bytes = Buffer.byteLength(JSON.stringify({ tools }))
      const isGood = (all: Tool[]) => all.every(({ description }) => description.startsWith('Use '))
      return {
        passes: tools.length > 0 && tools.length <= TOOLS_MAX && bytes <= TOOLS_BYTES_MAX && isGood(tools),
        value: `${tools.length} tools, ${bytes} bytes, ${tools.filter((tool) => isGood([tool])).length} begin with Use`,
        mutant: {
          name: 'a description of what it is',
          caught: isGood([...tools, { ...(tools[0] as Tool), description: 'Recalls memories.' }])
            ? undefined
            : 'refused',
        },
      }
    },
  },
  { number: 32, title: 'tools have annotations and output schemas; no result above 25,000 tokens', measure: results },
  {
    number: 33,
    title: `mcp install: ${CLIENTS.length} clients, again without a change, beside others, no secret`,
    measure: installs,
  },
  {
    number: 34,
    title: 'the TypeScript client: 0 dependencies, at most 500 KB; publint and attw are clean',
    measure: client,
  },
  {
    number: 35,
    title: 'both OpenAPI documents lint clean, and tests hold every answer against them',
    measure: openapi,
  },
  { number: 36, title: '/docs asks nobody else', measure: docs },
]

interface Tool {
  name: string
  description: string
  annotations?: Record<string, unknown>
  outputSchema?: { type?: string }
}

async function token(setting: Setting): Promise<Verdict> {
  const { loci } = setting
  const made = await dataOf<{ token: string; token_id: string; delegation: object }>(loci, [
    ...['tokens', 'create', '--name', 'card', '--depth', '2', '--ttl', '1h'],
  ])
  const file = path.join(scratch(setting, 'token'), 'delegation.json')
  writeFileSync(file, JSON.stringify(made.delegation))
  own(path.dirname(file), setting.user)
  const narrowed = await dataOf<{ token: string }>(loci, [
    ...['tokens', 'attenuate', '--delegation-file', file, '--scope', 'memory:read'],
  ])
  const { tokens } = await dataOf<{ tokens: Record<string, unknown>[] }>(loci, ['tokens', 'list'])
  const listed = tokens.find(({ token_id }) => token_id === made.token_id) ?? {}
  const has = ['ops', 'expires_at', 'last_used_at'].filter((name) => name in listed)
  const up = await dataOf<UpData>(loci, ['up', '-d'])
  const as = { LOCI_URL: up.daemon, LOCI_TOKEN: narrowed.token }
  const ran = [
    await loci(['memory', 'recall', 'x'], { env: as }),
    await loci(['memory', 'store', 'x'], { env: as }),
  ].map(({ code }) => code)
  const isShownOnce = !JSON.stringify(tokens).includes(made.token)
  return {
    passes: false,
    value: `${isShownOnce ? 'shown once' : 'shown again'}; listed with ${has.join(', ')}; narrowed offline: recall ends with ${ran[0]}, store with ${ran[1]}`,
    due: 'capabilities have no prefix and no rotation with an overlap; API keys rotate',
  }
}

async function results(setting: Setting): Promise<Verdict> {
  const { loci, isShort } = setting
  const { tools } = await dataOf<{ tools: Tool[] }>(loci, ['mcp', 'tools'])
  const whole = tools.filter(({ annotations, outputSchema }) => annotations && outputSchema?.type === 'object').length
  const count = isShort ? 2_000 : 100_000
  await fill(setting, 'many', count)
  const calls = [
    { name: 'recall', arguments: { query: QUESTION, limit: 200 } },
    { name: 'working_memory', arguments: { include_evicted: true } },
    { name: 'rank_tools', arguments: { task_class: 'support', task_intent: 'where is a parcel?' } },
    { name: 'run_cycle', arguments: { focus: 'parcels', observations: ['The north gate is closed.'] } },
    { name: 'remember', arguments: { text: 'The north gate opens at nine.' } },
  ]
  let told = await useTools(setting, 'many', calls)
  // A machine that is too busy is told so, and that nothing was done.
  for (let tries = 0; tries < 10 && told.some((answer) => /\\?"status\\?":503/.test(answer)); tries += 1)
    told = await useTools(setting, 'many', calls)
  const bytes = told.map((answer) => Buffer.byteLength(answer))
  const failed = told.filter((answer) => !/"result":\{/.test(answer) || /"isError":true/.test(answer))
  const most = Math.max(...bytes)
  const raw = await unbounded(setting, 'many')
  return {
    passes: whole === tools.length && failed.length === 0 && most <= RESULT_BYTES_MAX,
    value: `${whole} of ${tools.length} whole; at most ${most} bytes of ${RESULT_BYTES_MAX} with ${count} memories ${failed[0]?.slice(0, 200) ?? ''}`,
    mutant: {
      name: 'the same recall by its route, which has no such bound',
      caught: raw > RESULT_BYTES_MAX ? `${raw} bytes` : undefined,
    },
  }
}

async function daemonOf(setting: Setting, user: string) {
  const up = await dataOf<UpData & { service_id: string }>(setting.loci, ['up', '-d'])
  const loci = new Loci({ url: up.management, token: secretOf(setting, 'api-key'), service: up.service_id })
  return loci.service().user(user).daemon()
}

async function unbounded(setting: Setting, user: string): Promise<number> {
  const daemon = await daemonOf(setting, user)
  const { body } = await daemon.call('POST /v1/memory/recall', { body: { query: QUESTION, limit: 200 } })
  return Buffer.byteLength(JSON.stringify(body))
}

/** Memories that all have something to do with the question. */
async function fill(setting: Setting, user: string, count: number): Promise<void> {
  const daemon = await daemonOf(setting, user)
  const batch = 100
  for (let from = 0; from < count; from += batch) {
    const records = Array.from({ length: Math.min(batch, count - from) }, (_, at) => ({
      content: `Parcel ${from + at} came ${at % 3 === 0 ? 'late' : 'in time'} to the ${at % 2 === 0 ? 'north' : 'south'} gate, and ${'its box was wet and the label could not be read by anybody; '.repeat(3)}`,
    }))
    await daemon.call('POST /v1/memory/records/batch', { body: { records }, deadlineMs: 600_000 })
  }
}

/** As a client of the protocol has it: over standard input, by `loci mcp`. */
async function useTools({ loci }: Setting, user: string, calls: readonly { name: string; arguments: object }[]) {
  const child = loci.spawn(['mcp', '--user', user])
  const answers: string[] = []
  createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => answers.push(line))
  const send = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  const clientInfo = { name: 'scorecard', version: '1' }
  send({ id: 0, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } })
  send({ method: 'notifications/initialized' })
  for (const [at, params] of calls.entries()) send({ id: at + 1, method: 'tools/call', params })
  child.stdin?.end()
  await once(child, 'close')
  return answers.filter((line) => !/"id":0[,}]/.test(line))
}

async function installs(setting: Setting): Promise<Verdict> {
  const mine = another(setting, setting.loci)
  const key = secretOf(setting, 'api-key')
  mkdirSync(path.join(mine.home, '.cursor'))
  writeFileSync(path.join(mine.home, '.cursor/mcp.json'), '{"mcpServers":{"other":{"command":"x"}},"kept":1}')
  own(mine.home, mine.user)
  const wrong: string[] = []
  const holdsSecret = (text: string) => text.includes(key) || /loci_(?:sk|cap)|eyJ/.test(text)
  for (const name of CLIENTS) {
    const first = await dataOf<{ file: string; changed: boolean }>(mine, ['mcp', 'install', name])
    const again = await dataOf<{ changed: boolean }>(mine, ['mcp', 'install', name])
    const text = readFileSync(first.file, 'utf8')
    if (!first.changed || again.changed || !text.includes('loci') || holdsSecret(text)) wrong.push(name)
  }
  const cursor = JSON.parse(readFileSync(path.join(mine.home, '.cursor/mcp.json'), 'utf8'))
  const isMerged = Object.keys(cursor.mcpServers).join() === 'other,loci' && cursor.kept === 1
  return {
    passes: wrong.length === 0 && isMerged,
    value: `${CLIENTS.length - wrong.length} of ${CLIENTS.length}; ${isMerged ? 'the other server stays' : 'the other server is lost'} ${wrong}`,
    mutant: { name: 'a file with the key', caught: holdsSecret(`"env":{"LOCI_TOKEN":"${key}"}`) ? 'seen' : undefined },
  }
}

async function client({ installed }: Setting): Promise<Verdict> {
  const folder = path.join(installed.dist, 'sdk')
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { dependencies?: object }
  const dependencies = Object.keys(manifest.dependencies ?? {}).length
  const bytes = readdirSync(folder, { recursive: true, encoding: 'utf8' }).reduce((sum, name) => {
    const found = statSync(path.join(folder, name))
    return sum + (found.isFile() ? found.size : 0)
  }, 0)
  const problems = [...(await publintProblems(folder)), ...(await typeProblems(folder))]
  return {
    passes: dependencies === 0 && bytes <= SDK_BYTES_MAX && problems.length === 0,
    value: `${dependencies} dependencies, ${Math.round(bytes / 1_000)} KB; ${problems.join('; ') || 'publint and attw have nothing to say'}`,
  }
}

async function openapi(setting: Setting): Promise<Verdict> {
  const up = await dataOf<UpData>(setting.loci, ['up', '-d'])
  const folder = scratch(setting, 'openapi')
  const texts: string[] = []
  for (const program of ['management', 'daemon'] as const) {
    const text = await (await fetch(`${up[program]}/openapi.json`)).text()
    writeFileSync(path.join(folder, `${program}.json`), text)
    texts.push(text)
  }
  const lint = (files: string[]) =>
    spawnSync(path.join(ROOT, 'node_modules/.bin/redocly'), ['lint', '--extends=recommended-strict', ...files], {
      cwd: ROOT,
      encoding: 'utf8',
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1' },
    })
  const files = ['management', 'daemon'].map((program) => path.join(folder, `${program}.json`))
  const { status, stdout, stderr } = lint(files)
  const broken = path.join(folder, 'broken.json')
  writeFileSync(
    broken,
    (texts[1] as string).replace(/"operationId":\s*"[^"]+",?/, '').replace(/"summary":\s*"[^"]+",?/, ''),
  )
  const planted = lint([broken])
  const isHeld = await answersAreHeld()
  return {
    passes: status === 0 && isHeld,
    value: `${texts.map((text) => Object.keys(JSON.parse(text).paths).length).join(' and ')} paths, ${status === 0 ? '0 findings' : `${stdout}${stderr}`.slice(-300)}; ${isHeld ? 'an answer of another form fails its test' : 'answers are not held'}`,
    mutant: { name: 'an operation without its summary', caught: planted.status === 0 ? undefined : 'the lint fails' },
  }
}

/** Every program of the tests is started so; a route that answers something else than it says is refused. */
async function answersAreHeld(): Promise<boolean> {
  const harnesses = ['daemon/testing/daemon.ts', 'management/testing/management.ts', 'libs/chassis/testing/server.ts']
  const isSaid = harnesses.every((file) =>
    /^\s+verifyAnswers: true,$/m.test(readFileSync(path.join(ROOT, file), 'utf8')),
  )
  const answers = { 200: healthResponse }
  const at = (name: string, status: string) =>
    route(
      { method: 'GET', path: `/${name}`, access: open, tag: 'health', summary: 'Say how it is.', answers },
      () => ({ status }) as { status: 'ok' },
    )
  await using server = await testHttpServer([at('true', 'ok'), at('false', 'fine')])
  const [kept, broken] = [await server.ask('GET /true'), await server.ask('GET /false')]
  return isSaid && kept.status === 200 && broken.status === 500
}

async function docs({ loci }: Setting): Promise<Verdict> {
  const missing = whyNoChromium()
  if (missing) return { passes: false, value: 'not seen', due: missing }
  const up = await dataOf<UpData>(loci, ['up', '-d'])
  const browser = await startChromium()
  try {
    const page = await browser.newPage()
    const asked: string[] = []
    page.on('request', (request) => asked.push(request.url()))
    const foreign = (origin: string) => asked.filter((url) => url.startsWith('http') && new URL(url).origin !== origin)
    const found: string[] = []
    let count = 0
    for (const program of ['management', 'daemon'] as const) {
      asked.length = 0
      await page.goto(`${up[program]}/docs`, { waitUntil: 'networkidle' })
      found.push(...foreign(up[program]))
      count += asked.length
    }
    asked.length = 0
    await page.setContent('<img src="http://192.0.2.7/pixel.png">')
    const planted = foreign(up.daemon).length
    return {
      passes: count >= 2 && found.length === 0,
      value: `${found.length} of ${count} requests of both pages ${found[0] ?? ''}`,
      mutant: { name: 'an image of somebody else', caught: planted === 1 ? 'counted' : undefined },
    }
  } finally {
    await browser.close()
  }
}
