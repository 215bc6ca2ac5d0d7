// The Jaeger that a trace is looked for in: a real one, which who runs the test has built (`--jaeger=<path>`), since
// Debian has no package of it.

import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import type { Report } from '../world/report.ts'

const ARRIVE_MS_MAX = 30_000

export interface Jaeger {
  url: string
  /** Its API for people who look. */
  query: string
  stop(): void
}

export async function startJaeger(path: string | undefined): Promise<Jaeger | undefined> {
  if (path === undefined) return undefined
  const names = ['collector.otlp.http', 'collector.otlp.grpc', 'query.http-server', 'query.grpc-server', 'admin.http']
  const more = ['collector.http-server', 'collector.grpc-server']
  const ports: Record<string, number> = {}
  for (const name of [...names, ...more]) ports[name] = await freePort()
  const args = Object.entries(ports).map(([name, port]) => `--${name}.host-port=127.0.0.1:${port}`)
  const child = spawn(path, ['--collector.otlp.enabled=true', ...args], {
    stdio: 'ignore',
  })
  const query = `http://127.0.0.1:${ports['query.http-server']}`
  for (const end = Date.now() + ARRIVE_MS_MAX; ; await sleep(100)) {
    const isUp = await fetch(`${query}/api/services`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (isUp) break
    if (Date.now() > end) throw new Error(`${path} does not answer at ${query}`)
  }
  return { url: `http://127.0.0.1:${ports['collector.otlp.http']}`, query, stop: () => child.kill('SIGKILL') }
}

interface JaegerSpan {
  spanID: string
  operationName: string
  references: { refType: string; spanID: string }[]
}

/** The tree of spans as Jaeger's page shows it. */
export async function seenInJaeger(report: Report, { query }: Jaeger, traceId: string): Promise<void> {
  let spans: JaegerSpan[] = []
  const pathOf = (span: JaegerSpan | undefined): string[] => {
    if (!span) return []
    const parent = spans.find(({ spanID }) => spanID === span.references[0]?.spanID)
    return [...pathOf(parent), span.operationName]
  }
  const paths = () =>
    ['pg.query', 'index-search search'].map((name) =>
      pathOf(spans.find(({ operationName }) => operationName.startsWith(name))),
    )
  const isWhole = () => paths().every((path) => path.slice(0, -1).join() === 'search_memory,POST /v1/memory/recall')
  for (const end = Date.now() + ARRIVE_MS_MAX; !isWhole() && Date.now() < end; ) {
    const answer = await fetch(`${query}/api/traces/${traceId}`)
    const { data } = (await answer.json()) as { data: { spans: JaegerSpan[] }[] | null }
    spans = data?.[0]?.spans ?? []
    await sleep(200)
  }
  report.promise(
    'the trace is seen in Jaeger, from the agent to the statement and to the thread',
    isWhole(),
    `${spans.length} spans; ${paths()
      .map((path) => path.join(' → '))
      .join('; ')}`,
  )
}
