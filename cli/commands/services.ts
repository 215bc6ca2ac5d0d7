// Services: made with their steps, awaited, looked at, deleted.

import type { Service as Described, Operation } from '@loci/sdk/management.ts'
import type { Progress, Service } from '@loci/sdk/services.ts'
import { CommandFailure, usage } from '../failure.ts'
import { withLoci, withService } from '../profiles/connection.ts'
import type { Call, Result } from '../tree/command.ts'
import { timeoutMs } from '../tree/timeout.ts'
import { argument, pairs, requireYes, wholeNumber } from './given.ts'
import { ago, columns, fields } from './shown.ts'

const READY_S = 120
const LIST = 50

export async function list(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const limit = call.has('all') ? Number.POSITIVE_INFINITY : (wholeNumber(call, 'limit', 100_000) ?? LIST)
    const query = { status: call.text('status') as Described['status'] as never, type: call.text('type') }
    const services = (await loci.services.list(query).all(limit)).map(({ info }) => info as Described)
    const rows = services.map(({ slug, id, status, plan, endpoint, created_at }) => [
      slug,
      id,
      status,
      plan,
      endpoint ?? '-',
      ago(created_at),
    ])
    return {
      data: { services },
      lines: rows.length > 0 ? columns(rows) : ['no service yet: loci services create <name>'],
    }
  })
}

export async function get(call: Call): Promise<Result> {
  return withService(
    call,
    async (service) => {
      const info = await service.describe()
      return { data: info, lines: fields(info) }
    },
    call.arguments[0],
  )
}

export async function create(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const service = await loci.services.create({
      name: argument(call, 0),
      type: call.text('type'),
      plan: call.text('plan') as Described['plan'] as never,
      region: call.text('region'),
      slug: call.text('slug'),
      config: pairs(call, 'config'),
    })
    if (call.has('no-wait')) {
      const info = await service.describe()
      return { data: info, lines: [`${info.slug} is ${info.status}: loci services wait ${info.slug}`] }
    }
    return untilActive(call, service)
  })
}

export async function wait(call: Call): Promise<Result> {
  return withService(call, async (service) => untilActive(call, service), call.arguments[0])
}

async function untilActive(call: Call, service: Service): Promise<Result> {
  const startedAt = performance.now()
  const told = new Set<string>()
  const onProgress = ({ steps }: Progress) => {
    for (const { name, detail, started_at, completed_at } of steps) {
      if (completed_at === null || told.has(name)) continue
      told.add(name)
      const s = started_at === null ? 0 : (Date.parse(completed_at) - Date.parse(started_at)) / 1_000
      call.say(`◇  ${name.padEnd(12)} ${(detail ?? '').padEnd(20)} ${s.toFixed(1)} s`)
    }
  }
  const { signal } = call.host
  try {
    await service.ready({ timeoutMs: timeoutMs(call, READY_S), onProgress, signal })
  } catch (error) {
    if (!signal.aborted) throw error
    throw new CommandFailure('interrupted', 'INTERRUPTED', 'It goes on at the server.', {
      hint: `Follow it again: loci services wait ${service.id}`,
    })
  }
  const info = await service.describe()
  const s = ((performance.now() - startedAt) / 1_000).toFixed(1)
  const lines = [
    `└  ${info.slug}  ${info.status} after ${s} s`,
    `   id        ${info.id}`,
    `   endpoint  ${info.endpoint}`,
    `   env       loci env ${info.slug} >> .env`,
  ]
  return { data: info, lines }
}

export async function remove(call: Call): Promise<Result> {
  return withService(
    call,
    async (service) => {
      const { id, slug, name } = await service.describe()
      if (call.has('dry-run'))
        return { data: { dry_run: true, id, slug, name }, lines: [`would delete ${slug} with everything in it`] }
      await requireYes(call, `Delete ${slug} (${name}) with everything in it`)
      const operation: Operation = await service.delete()
      return { data: operation, lines: [`${slug} is being deleted, operation ${operation.id}`] }
    },
    argument(call, 0),
  )
}

export async function health(call: Call): Promise<Result> {
  return withService(
    call,
    async (service) => {
      const { body } = await (await service.daemon()).call('GET /v1/health/all')
      const rows = Object.entries(body.checks).map(([name, { status, detail }]) => [`  ${name}`, status, detail ?? ''])
      return { data: body, lines: [body.status, ...columns(rows)] }
    },
    call.arguments[0],
  )
}

export async function metrics(call: Call): Promise<Result> {
  return withService(
    call,
    async (service) => {
      const { body } = await (await service.daemon()).call('GET /metrics')
      return { data: { text: body }, lines: [body.trimEnd()] }
    },
    call.arguments[0],
  )
}

export async function usageOf(call: Call): Promise<Result> {
  return withService(
    call,
    async (service, loci) => {
      const { id } = await service.known()
      const { body } = await loci.management.call('GET /api/v1/services/{id}/usage', { path: { id } })
      const rows = body.usage.map(({ at, requests, writes, records, bytes }) =>
        [at, requests, writes, records, bytes].map(String),
      )
      return { data: body, lines: columns(rows, ['at', 'requests', 'writes', 'records', 'bytes']) }
    },
    call.arguments[0],
  )
}

/** What a program needs to work with the service: a capability of its own, shown once. */
export async function env(call: Call): Promise<Result> {
  return withService(
    call,
    async (service) => {
      const { id, endpoint } = await service.known()
      const days = wholeNumber(call, 'days', 365) ?? 30
      const { token, expires_at } = await service.createToken({
        name: 'loci env',
        databases: ['*'],
        ttlSeconds: days * 86_400,
      })
      const values = { LOCI_URL: endpoint ?? '', LOCI_SERVICE: id, LOCI_TOKEN: token }
      const prefix = call.text('format') === 'shell' ? 'export ' : ''
      const lines =
        call.text('format') === 'json'
          ? [JSON.stringify(values, null, 2)]
          : Object.entries(values).map(([name, value]) => `${prefix}${name}=${value}`)
      call.say(`the token is good until ${expires_at}; loci tokens list shows it, loci tokens revoke ends it`)
      return { data: { ...values, expires_at }, lines }
    },
    call.arguments[0],
  )
}

export async function open(call: Call): Promise<Result> {
  return withLoci(call, async (_, { url }) => {
    const page = `${url.value}/sign-in`
    const opener = { darwin: 'open', win32: 'start' }[call.host.platform as string] ?? 'xdg-open'
    if (call.host.isTerminal) {
      const { spawn } = await import('node:child_process')
      spawn(opener, [page], { stdio: 'ignore', detached: true })
        .on('error', () => {})
        .unref()
    }
    return { data: { url: page }, lines: [page] }
  })
}

export async function tenants(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const { body } = await loci.management.call('GET /api/v1/tenants')
    return { data: body, lines: columns(body.tenants.map(({ id, name, plan, status }) => [id, name, plan, status])) }
  })
}

export async function tenantStatus(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const id = call.arguments[0] ?? (await onlyTenant(loci))
    const { body } = await loci.management.call('GET /api/v1/tenants/{id}/status', { path: { id } })
    return { data: body, lines: fields(body) }
  })
}

export async function onlyTenant(loci: Parameters<Parameters<typeof withLoci>[1]>[0]): Promise<string> {
  const { body } = await loci.management.call('GET /api/v1/tenants')
  const [only] = body.tenants
  if (only && body.tenants.length === 1) return only.id
  throw usage(`${body.tenants.length} tenants are there: name one.`, 'loci tenants list')
}
