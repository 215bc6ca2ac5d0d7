// Capabilities of a service and API keys of the organization; and the calls that need another credential.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { attenuate, claimsOf, type Delegation } from '@loci/sdk/attenuate.ts'
import { connectDaemon } from '@loci/sdk/client.ts'
import { CommandFailure, usage } from '../failure.ts'
import { withLoci, withService } from '../profiles/connection.ts'
import type { Call, Result } from '../tree/command.ts'
import { dataDirectoryOf, readText } from '../up/files.ts'
import { argument, requireYes, seconds, textOrInput, wholeNumber } from './given.ts'
import { ago, columns, fields } from './shown.ts'

const LIST = 50

export async function listTokens(call: Call): Promise<Result> {
  return withService(call, async (service) => {
    const tokens = await service.tokens().all(wholeNumber(call, 'limit', 10_000) ?? LIST)
    const rows = tokens.map(({ token_id, name, ops, expires_at, revoked_at, last_used_at }) => [
      token_id,
      name ?? '-',
      revoked_at ? 'revoked' : Date.parse(expires_at) < Date.now() ? 'expired' : `until ${expires_at}`,
      last_used_at ? `used ${ago(last_used_at)}` : 'never used',
      ops.join(','),
    ])
    return { data: { tokens }, lines: rows.length > 0 ? columns(rows) : ['no token yet: loci tokens create'] }
  })
}

export async function createToken(call: Call): Promise<Result> {
  return withService(call, async (service) => {
    const [ops, databases] = [call.list('scope'), call.list('user')]
    const ttlSeconds = seconds(call, 'ttl')
    const depth = wholeNumber(call, 'depth', 16)
    const made = await service.createToken({
      name: call.text('name'),
      ...(ops.length > 0 ? { ops: [...ops] } : {}),
      databases: databases.length > 0 ? [...databases] : ['*'],
      ...(ttlSeconds === undefined ? {} : { ttlSeconds }),
      ...(depth === undefined ? {} : { depth }),
    })
    call.say(`${made.token_id}, good until ${made.expires_at}; shown once:`)
    const { delegation } = made
    return { data: made, lines: [made.token, ...(delegation ? [`delegation ${JSON.stringify(delegation)}`] : [])] }
  })
}

/** Offline: who may narrow has the chain and its key. */
export async function attenuateToken(call: Call): Promise<Result> {
  const text = await textOrInput(call, undefined, call.text('delegation-file')).catch(() => '')
  const given = text === '' ? await call.host.readInput() : text
  let parent: Delegation
  try {
    const read = JSON.parse(given.replace(/^delegation /m, '')) as Delegation & { delegation?: Delegation }
    parent = read.delegation ?? read
  } catch {
    throw usage(
      'What is narrowed is a delegation: the JSON that loci tokens create --depth shows.',
      '--delegation-file <file>, or on standard input',
    )
  }
  const [ops, databases] = [call.list('scope'), call.list('user')]
  const token = await attenuate(parent, {
    ...(ops.length > 0 ? { ops: [...ops] } : {}),
    ...(databases.length > 0 ? { databases: [...databases] } : {}),
    ttlSeconds: seconds(call, 'ttl'),
  })
  return { data: { token }, lines: [token] }
}

export async function revokeToken(call: Call): Promise<Result> {
  const id = argument(call, 0)
  return withService(call, async (service) => {
    if (call.has('dry-run')) return { data: { dry_run: true, token_id: id }, lines: [`would revoke ${id}`] }
    await requireYes(call, `Revoke ${id} and what was made from it`)
    await service.revokeToken(id)
    return { data: { revoked: true, token_id: id }, lines: [`revoked ${id}`] }
  })
}

/** What a capability says of itself, link by link; its signature is the daemon's to check. */
export async function inspectToken(call: Call): Promise<Result> {
  const token = (await textOrInput(call, argument(call, 0))).trim()
  const links = token.split('~').map((link) => claimsOf(link))
  return {
    data: { links },
    lines: links.flatMap((link, at) => [`link ${at + 1}`, ...fields(link).map((line) => `  ${line}`)]),
  }
}

export async function listKeys(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const { body } = await loci.management.call('GET /api/v1/api-keys')
    const rows = body.api_keys.map(({ id, name, expires_at, last_used_at, scopes }) => [
      id,
      name,
      expires_at ? `until ${expires_at}` : 'no end',
      last_used_at ? `used ${ago(last_used_at)}` : 'never used',
      scopes.join(','),
    ])
    return { data: body, lines: columns(rows) }
  })
}

export async function createKey(call: Call): Promise<Result> {
  return withLoci(call, async (loci) => {
    const scopes = call.list('scope')
    const { body } = await loci.management.call('POST /api/v1/api-keys', {
      body: {
        name: argument(call, 0),
        ...(scopes.length > 0 ? { scopes: [...scopes] as never } : {}),
        expires_in: seconds(call, 'ttl'),
      },
    })
    call.say(`${body.id}; shown once:`)
    return { data: body, lines: [body.secret] }
  })
}

export async function rotateKey(call: Call): Promise<Result> {
  const id = argument(call, 0)
  return withLoci(call, async (loci) => {
    const { body } = await loci.management.call('POST /api/v1/api-keys/{id}/rotate', {
      path: { id },
      body: { overlap_seconds: seconds(call, 'grace') },
    })
    call.say(`${body.id}; the old one ends ${body.previous_until ?? 'now'}; shown once:`)
    return { data: body, lines: [body.secret] }
  })
}

export async function revokeKey(call: Call): Promise<Result> {
  const id = argument(call, 0)
  return withLoci(call, async (loci) => {
    if (call.has('dry-run')) return { data: { dry_run: true, id }, lines: [`would revoke ${id}`] }
    await requireYes(call, `Revoke the API key ${id}`)
    const { body } = await loci.management.call('DELETE /api/v1/api-keys/{id}', { path: { id } })
    return { data: body, lines: [`revoked ${id}`] }
  })
}

export async function adminStatus(call: Call): Promise<Result> {
  return withAdmin(call, async (daemon) => {
    const { body } = await daemon.call('GET /admin/services/status')
    const rows = body.services.map(({ name, enabled, state, errors_total }) => [
      name,
      enabled ? 'on' : 'off',
      state,
      `${errors_total} errors`,
    ])
    return { data: body, lines: columns(rows) }
  })
}

export async function adminSwitch(call: Call, to: 'enable' | 'disable'): Promise<Result> {
  const services = [argument(call, 0)]
  return withAdmin(call, async (daemon) => {
    if (call.has('dry-run'))
      return { data: { dry_run: true, services }, lines: [`would ${to} ${services.join(', ')} in the whole cell`] }
    if (to === 'disable') await requireYes(call, `Disable ${services.join(', ')} in the whole cell`)
    const path = to === 'enable' ? ('POST /admin/services/enable' as const) : ('POST /admin/services/disable' as const)
    const { body } = await daemon.call(path, { body: { services, reason: call.text('reason') } })
    return { data: body, lines: [`${to}d ${services.join(', ')}`] }
  })
}

/** The admin token of a cell: named by a file, or that of the local loci up. */
async function withAdmin(
  call: Call,
  work: (daemon: ReturnType<typeof connectDaemon>) => Promise<Result>,
): Promise<Result> {
  const file = call.text('admin-token-file') ?? call.host.env.LOCI_ADMIN_TOKEN_FILE
  let token: string | undefined
  try {
    token =
      file === undefined
        ? readText(dataDirectoryOf(call.host, undefined).secret('admin-token'))
        : readFileSync(resolve(call.host.cwd, file), 'utf8').trim()
  } catch (error) {
    throw new CommandFailure(
      'config',
      'BAD_CONFIG',
      `The admin token cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    )
  }
  if (!token)
    throw new CommandFailure('credential', 'NOT_SIGNED_IN', 'This needs the admin token of the cell.', {
      hint: '--admin-token-file <file> (LOCI_ADMIN_TOKEN_FILE)',
    })
  return withService(call, async (service) => {
    const { endpoint } = await service.known()
    return work(connectDaemon({ url: endpoint as string, headers: () => ({ 'x-loci-admin-token': token as string }) }))
  })
}

const DATA_PLANE = /^\/(?:v1|mcp|admin)(?:\/|$)/

/** Any call: paths of the data plane go to the service, others to management. */
export async function api(call: Call): Promise<Result> {
  const method = argument(call, 0).toUpperCase()
  const path = argument(call, 1)
  if (!/^(?:GET|POST|PUT|PATCH|DELETE)$/.test(method))
    throw usage(`The method is GET, POST, PUT, PATCH or DELETE, not '${method}'.`)
  if (!path.startsWith('/')) throw usage('The path begins with a slash.')
  const query = new URLSearchParams(
    call.list('query').map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]),
  )
  const text = call.text('data')
  let body: unknown
  try {
    body = text === undefined ? undefined : JSON.parse(text === '-' ? await call.host.readInput() : text)
  } catch {
    throw usage('--data is not JSON.')
  }
  return withService(call, async (service, loci) => {
    const client = DATA_PLANE.test(path) ? await service.daemon(call.text('user')) : loci.management
    const asked = `${method} ${path}`
    const answer = await (
      client.call as unknown as (name: string, given: object) => Promise<{ body: unknown; status: number }>
    )(asked, {
      query: Object.fromEntries(query),
      ...(body === undefined ? {} : { body }),
    })
    const lines = typeof answer.body === 'string' ? [answer.body] : [JSON.stringify(answer.body, null, 2)]
    return { data: { status: answer.status, body: answer.body ?? null }, lines }
  })
}
