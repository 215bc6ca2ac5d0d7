// Traces, with the SDK that deploy/otel preloads: a request is one server span under its caller's trace, what it does
// hangs below it, a cell's call to management goes on there, a call of our client is its parent, and no id of a
// customer is in any of it.
// `--collector=<path of an otelcol>` sends everything through that collector on its way (its build needs otlp and
// otlphttp); `--jaeger=<path of a jaeger-all-in-one>` looks for the trace of a recall where an operator does.

import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { type Jaeger, seenInJaeger, startJaeger } from '../robustness/jaeger.ts'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../robustness/otlp-receiver.ts'
import { type Edit, plantMutant } from '../world/mutant.ts'
import { type LociProcess, untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization, addTenant, type WorldOrganization, type WorldTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const PRELOAD = fileURLToPath(new URL('../../deploy/otel/otel.ts', import.meta.url))
const SERVER = 2
const CLIENT = 3
const ENTRY = 'entry-of-a-customer'
const QUESTION = 'question-of-a-customer'
/** A program of somebody who has our client: a recall that may make no span, and one that may. */
const AGENT = `import { Loci } from '${import.meta.resolve('@loci/sdk/loci.ts')}'
const given = JSON.parse(process.env.AGENT)
for (const telemetry of [false, undefined])
  await new Loci({ ...given, telemetry }).service().user('ada').recall('${QUESTION}')
setInterval(() => {}, 1_000)
`
const RECORDS = 2_200
/** The SDK sends what it has every five seconds. */
const ARRIVE_MS_MAX = 30_000

await reportOn(async (report) => {
  install()
  const jaeger = await startJaeger(given('jaeger'))
  const receiver = await startOtlpReceiver(jaeger?.url)
  const collector = await startCollector(given('collector'), receiver)
  const settings = {
    NODE_OPTIONS: `--import=${pathToFileURL(PRELOAD).href}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector?.url ?? receiver.url,
  }
  const world = await startWorld({ replicas: 1, settings })
  try {
    report.note(collector ? `through the collector ${collector.path}` : 'straight to a receiver of the test')
    const organization = await addOrganization(world, 'Traced')
    const tenant = await addTenant(world, { name: 'traced', plan: 'pro', of: organization })
    const [daemon] = world.daemons as [LociProcess]
    await daemonSpans(report, receiver, daemon, tenant)
    await managementSpans(report, receiver, world, organization)
    await goesOn(report, receiver)
    await clientSpans(report, receiver, settings, daemon, tenant, jaeger)
    await notSampled(report, receiver, daemon, tenant)
    namesNobody(report, receiver, organization, tenant)
    await mutants(report, receiver, world, tenant)
  } finally {
    await world.stop()
    collector?.stop()
    receiver.close()
    jaeger?.stop()
  }
})

function given(name: string): string | undefined {
  return process.argv.find((arg) => arg.startsWith(`--${name}=`))?.slice(name.length + 3)
}

/** As an operator does it, once. */
function install(): void {
  const home = fileURLToPath(new URL('../../deploy/otel', import.meta.url))
  if (existsSync(join(home, 'node_modules'))) return
  // `npm run --silent` would keep npm silent about why. A registry that did not answer once may answer the next time.
  const env = { ...process.env, npm_config_loglevel: 'warn' }
  const args = ['ci', '--no-audit', '--no-fund', '--prefer-offline']
  for (let tries = 3; ; tries -= 1) {
    const { status, stderr } = spawnSync('npm', args, { cwd: home, encoding: 'utf8', env })
    if (status === 0) return
    if (tries === 1) throw new Error(`npm ci in deploy/otel failed: ${stderr}`)
  }
}

async function daemonSpans(report: Report, receiver: OtlpReceiver, daemon: LociProcess, tenant: WorldTenant) {
  const { traceId, spanId, span, below } = await writeEntry(receiver, daemon, tenant)
  // Log lines leave the process in batches, spans by another way.
  const isLogged = () => daemon.lines.some((line) => line.includes(`"traceId":"${traceId}"`))
  await until(isLogged)
  const logged = isLogged()
  report.promise(
    "a request is a server span of its caller's trace, named by its template",
    span?.kind === SERVER && span.parentSpanId === spanId && logged && isDescribed(span, '/v1/kv/entries/{key}', 200),
    `${span?.name ?? 'no span'}, kind ${span?.kind}, status ${span?.attributes['http.response.status_code']}, in the log: ${logged}`,
  )
  report.promise(
    'what the handler does hangs below its span',
    below.length > 0 && below.every(({ name }) => name.startsWith('pg')),
    below.map(({ name }) => name).join(', ') || 'nothing',
  )
}

async function managementSpans(report: Report, receiver: OtlpReceiver, world: World, organization: WorldOrganization) {
  const { traceId, headers } = newTrace()
  await fetch(`${world.management?.url}/api/v1/services`, {
    method: 'POST',
    headers: { ...headers, 'x-api-key': organization.apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ service_type: 'memory', name: 'Traced' }),
  })
  const [span, below] = await untilTrace(receiver, traceId)
  report.promise(
    'management likewise, access included',
    isDescribed(span, '/api/v1/services', 202) && below.length > 2,
    `${span?.name ?? 'no span'} ${span?.attributes['http.response.status_code']}, ${below.length} statements below it`,
  )
}

/** Of a request that writes one entry. */
async function writeEntry(receiver: OtlpReceiver, daemon: LociProcess, tenant: WorldTenant, flags = '01') {
  const { traceId, spanId, headers } = newTrace(flags)
  const answer = await fetch(`${daemon.url}/v1/kv/entries/${ENTRY}`, {
    method: 'PUT',
    headers: { ...headers, 'x-loci-capability': tenant.capability.token, 'content-type': 'application/json' },
    body: '{"value":1}',
  })
  if (answer.status !== 200) throw new Error(`the entry was answered ${answer.status}: ${await answer.text()}`)
  if (flags === '00') return { traceId, spanId, span: undefined, below: [] }
  const [span, below] = await untilTrace(receiver, traceId)
  return { traceId, spanId, span, below }
}

async function goesOn(report: Report, receiver: OtlpReceiver): Promise<void> {
  const [call, there] = await untilCalled(receiver)
  report.promise(
    "a cell's call goes on in management",
    call !== undefined && there !== undefined,
    `${call?.name ?? 'no call'} (kind ${call?.kind}) → ${there?.name ?? 'nothing there'} (kind ${there?.kind}), one trace`,
  )
}

async function clientSpans(
  report: Report,
  receiver: OtlpReceiver,
  settings: Record<string, string>,
  { url }: LociProcess,
  { capability }: WorldTenant,
  jaeger: Jaeger | undefined,
): Promise<void> {
  await storeMany(url, capability.token)
  const env = { ...process.env, ...settings, AGENT: JSON.stringify({ url, token: capability.token }) }
  const agent = spawn(process.execPath, ['--input-type=module', '-e', AGENT], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const calls = () => receiver.spans.filter(({ name, kind }) => name === 'search_memory' && kind === CLIENT)
  await until(() => calls().length > 0)
  agent.kill('SIGKILL')
  const [span, ...others] = calls()
  const below = () => receiver.spans.find(({ parentSpanId, kind }) => parentSpanId === span?.spanId && kind === SERVER)
  await until(() => below() !== undefined)
  const there = below()
  report.promise(
    'a recall of our client is a search_memory span without its question, and the request in the daemon hangs below it',
    isDescribed(there, '/v1/memory/recall', 200) &&
      there?.traceId === span?.traceId &&
      span?.attributes['gen_ai.memory.store.id'] === 'ada' &&
      !named(span.text, [QUESTION]),
    `${span?.name ?? 'no span'} (kind ${span?.kind}) → ${there?.name ?? 'nothing there'} (kind ${there?.kind}), one trace`,
  )
  const inThread = () =>
    receiver.spans.filter(({ parentSpanId, name }) => parentSpanId === there?.spanId && name === 'index-search search')
  const statements = () =>
    receiver.spans.filter(({ parentSpanId, name }) => parentSpanId === there?.spanId && name.startsWith('pg'))
  await until(() => inThread().length > 0)
  const [thread] = inThread()
  report.promise(
    'its statements hang there, and its search in a thread, with the processor time that this took',
    statements().length > 0 && Number(thread?.attributes['loci.thread.cpu_us']) > 0,
    `${statements().length} statements; ${thread?.name ?? 'no thread'}, ${thread?.attributes['loci.thread.cpu_us']} µs`,
  )
  if (jaeger) await seenInJaeger(report, jaeger, span?.traceId ?? '')
  else report.skip('the trace in Jaeger', 'no --jaeger was given')
  report.promise('a client that is told to make no spans makes none', others.length === 0, `${others.length} more`)
}

/** More than this process searches without its thread. */
async function storeMany(url: string, token: string): Promise<void> {
  for (let from = 0; from < RECORDS; from += 100) {
    const records = Array.from({ length: 100 }, (_, n) => ({ content: `Note ${from + n} is about ${QUESTION} too` }))
    const answer = await fetch(`${url}/v1/memory/records/batch`, {
      method: 'POST',
      headers: { 'x-loci-capability': token, 'x-loci-database': 'ada', 'content-type': 'application/json' },
      body: JSON.stringify({ records }),
    })
    if (answer.status !== 200) throw new Error(`storing was answered ${answer.status}: ${await answer.text()}`)
    await answer.body?.cancel()
  }
}

/** What the caller does not want recorded is not recorded, and neither is what happens below it. */
async function notSampled(report: Report, receiver: OtlpReceiver, daemon: LociProcess, tenant: WorldTenant) {
  const { traceId } = await writeEntry(receiver, daemon, tenant, '00')
  // Sent after it, and arrived: so would the other have been.
  await writeEntry(receiver, daemon, tenant)
  const seen = receiver.spans.filter((span) => span.traceId === traceId).length
  report.promise('a trace that its caller does not sample is not recorded', seen === 0, `${seen} spans`)
}

function namesNobody(report: Report, receiver: OtlpReceiver, organization: WorldOrganization, tenant: WorldTenant) {
  const secrets = [tenant.organizationId, tenant.tenantId, tenant.serviceId, ENTRY, organization.apiKey]
  const hits = receiver.spans.filter(({ text }) => /\b(?:org|ten|svc|tok)_/.test(text) || named(text, secrets))
  report.promise(
    'no id, key or name of a customer is in a span',
    hits.length === 0 && receiver.spans.length > 20,
    `${hits.length} of ${receiver.spans.length} spans${hits[0] ? `, such as ${hits[0].text}` : ''}`,
  )
}

async function mutants(report: Report, receiver: OtlpReceiver, world: World, tenant: WorldTenant): Promise<void> {
  const attempt = async (name: string, edits: Edit[], judge: (daemon: LociProcess) => Promise<string | undefined>) => {
    await using mutant = await plantMutant(edits)
    const daemon = await mutant.startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: '127.0.0.1:0' }))
    try {
      await untilReady(daemon.url)
      report.mutant(name, await judge(daemon))
    } finally {
      await daemon.stop()
    }
  }
  await attempt(
    'the span is never made active',
    [
      {
        file: 'libs/chassis/trace.ts',
        from: 'context.with(trace.setSpan(ROOT_CONTEXT, span), work)',
        to: 'work()',
      },
    ],
    async (daemon) => {
      const { below } = await writeEntry(receiver, daemon, tenant)
      return below.length === 0 ? 'nothing hangs below it' : undefined
    },
  )
  await attempt(
    'the path in place of its template',
    [{ file: 'libs/chassis/trace.ts', from: "'http.route': route", to: "'http.route': globalThis.lociPath" }].concat([
      {
        file: 'libs/chassis/exchange.ts',
        from: 'this.span = startSpan(',
        to: 'Object.assign(globalThis, { lociPath: request.url })\n    this.span = startSpan(',
      },
    ]),
    async (daemon) => {
      const { span } = await writeEntry(receiver, daemon, tenant)
      return span && named(span.text, [ENTRY]) ? 'the name of an entry is in the span' : undefined
    },
  )
}

function named(text: string, secrets: string[]): boolean {
  return secrets.some((secret) => text.includes(secret))
}

function isDescribed(span: ReceivedSpan | undefined, route: string, status: number): boolean {
  return (
    span?.name.endsWith(` ${route}`) === true &&
    span.attributes['http.route'] === route &&
    Number(span.attributes['http.response.status_code']) === status
  )
}

function newTrace(flags = '01') {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')]
  return { traceId, spanId, headers: { traceparent: `00-${traceId}-${spanId}-${flags}` } }
}

/** The server's span of the trace, and all that hang below it, at any depth. */
async function untilTrace(receiver: OtlpReceiver, traceId: string) {
  await until(() => receiver.spans.some((span) => span.traceId === traceId && span.kind === SERVER))
  const spans = receiver.spans.filter((span) => span.traceId === traceId)
  const server = spans.find(({ kind }) => kind === SERVER)
  const below = new Set([server?.spanId])
  // A parent ends after its children, so it comes after them: one pass from the end sees every parent first.
  const children = spans.toReversed().filter(({ spanId, parentSpanId }) => below.has(parentSpanId) && below.add(spanId))
  return [server, children] as const
}

/** A call of the cell, and the span in management whose parent it is. */
async function untilCalled(receiver: OtlpReceiver) {
  const find = () => {
    for (const call of receiver.spans.filter(({ kind, name }) => kind === CLIENT && name.includes('/cell/v1/'))) {
      const there = receiver.spans.find(({ parentSpanId, kind }) => parentSpanId === call.spanId && kind === SERVER)
      if (there) return [call, there] as const
    }
    return undefined
  }
  await until(() => find() !== undefined)
  return find() ?? ([undefined, undefined] as const)
}

async function until(isSo: () => boolean): Promise<void> {
  const end = Date.now() + ARRIVE_MS_MAX
  while (!isSo() && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 50))
}

async function startCollector(path: string | undefined, receiver: OtlpReceiver) {
  if (path === undefined) return undefined
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'loci-otelcol-'))
  const file = join(directory, 'config.yaml')
  writeFileSync(
    file,
    `receivers: {otlp: {protocols: {http: {endpoint: '127.0.0.1:${port}'}}}}
exporters: {otlphttp: {endpoint: '${receiver.url}', encoding: json, compression: none}}
service: {telemetry: {metrics: {level: none}}, pipelines: {traces: {receivers: [otlp], exporters: [otlphttp]}}}
`,
  )
  const child = spawn(path, ['--config', file], { stdio: 'ignore' })
  return {
    path,
    url: `http://127.0.0.1:${port}`,
    stop() {
      child.kill('SIGTERM')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}
