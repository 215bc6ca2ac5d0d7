// The operator's commands, on the same functions as the routes. Each answers one JSON object on standard output, says what went
// wrong on standard error, and ends with 64 for a wrong call, 69 when the database can not be used, 1 for a refusal.

import { readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'
import { ApiError, toApiError } from '@loci/chassis/api-error.ts'
import type { Config } from '@loci/chassis/config.ts'
import type { Command } from '@loci/chassis/program.ts'
import type { SettingName } from '@loci/chassis/settings.ts'
import { isId } from '@loci/contract/ids.ts'
import { schemaState } from '@loci/postgres/migrate.ts'
import { openPool, type Pool, type Sql } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { findOwner, useOrganization } from './access/store.ts'
import { appendAudit, PLATFORM_CHAIN } from './audit/store.ts'
import { addCell, requireCell } from './cells/cells.ts'
import { raiseEpoch, readEpoch } from './feed/store.ts'
import { keepKeys, rotateKeys } from './keys/keys.ts'
import { createSealer, SealingKeyMissing } from './keys/sealing.ts'
import { listKeyRows, type SigningKeyRow } from './keys/store.ts'
import { mintPartnerCredential, revokePartnerCredential } from './partner-credentials/partner-credentials.ts'
import { PLAN_NAMES, type PlanName } from './plans.ts'
import { MIGRATIONS } from './schema.ts'
import { addInstance, requireService } from './services/services.ts'
import type { Service } from './services/store.ts'
import { listOrganizations } from './tenants/store.ts'
import { ensureOrganization, ensureTenant } from './tenants/tenants.ts'
import { type Issuer, mintToken, revokeEpoch, revokeToken } from './tokens/tokens.ts'

interface Context {
  pool: Pool
  issuer: Issuer
  actor: string
}

type Given = Record<string, string | undefined>

interface Verb {
  /** Names of options, each with a value; a command without a required one says how it is called. */
  required?: string[]
  optional?: string[]
  run(context: Context, given: Given): Promise<object>
}

interface Group {
  summary: string
  without?: SettingName[]
  verbs: Record<string, Verb>
}

const GROUPS: Record<string, Group> = {
  cells: {
    summary:
      'add a cell: cells add --name a --region us-east-1 --capacity 100 --endpoint https://… --public-key <x or file>',
    without: ['sealingKeys'],
    verbs: {
      add: { required: ['name', 'region', 'capacity', 'endpoint', 'public-key'], optional: ['tenant'], run: cellsAdd },
    },
  },
  instances: {
    summary:
      'place a service in a cell: instances add --org <name or id> --tenant <name or id> --plan pro --cell <name or id>',
    without: ['sealingKeys'],
    verbs: {
      add: { required: ['org', 'tenant', 'plan', 'cell'], optional: ['name', 'service-type'], run: instancesAdd },
    },
  },
  tokens: {
    summary:
      'capabilities: tokens mint --service svc_… --ops a,b|all --databases "*"|a,b …, tokens revoke --jti cap_… | --org …',
    verbs: {
      mint: {
        required: ['service'],
        optional: ['ops', 'databases', 'ttl', 'depth', 'sub', 'name', 'holder-key'],
        run: tokensMint,
      },
      revoke: { optional: ['jti', 'service', 'tenant', 'org', 'not-before'], run: tokensRevoke },
    },
  },
  'partner-credentials': {
    summary:
      'partners: partner-credentials mint --service svc_… --name n --database d --classes a,b --routes a,b, revoke --id ptr_…',
    without: ['sealingKeys'],
    verbs: {
      mint: {
        required: ['service', 'name', 'database'],
        optional: ['classes', 'routes', 'partner', 'expires-at'],
        run: partnerCredentialsMint,
      },
      revoke: { required: ['id'], run: partnerCredentialsRevoke },
    },
  },
  keys: {
    summary: 'signing keys: keys rotate, keys list',
    verbs: { rotate: { run: keysRotate }, list: { run: keysList } },
  },
  feed: {
    summary:
      'after putting a disk snapshot of the control database back: feed new-epoch makes every cell read everything again',
    without: ['sealingKeys'],
    verbs: { 'new-epoch': { run: feedNewEpoch } },
  },
}

interface Streams {
  out(text: string): void
  err(text: string): void
}

export function operatorCommands(streams: Streams): Record<string, Command> {
  return Object.fromEntries(
    Object.entries(GROUPS).map(([name, group]) => [
      name,
      {
        summary: group.summary,
        ...(group.without ? { without: group.without } : {}),
        run: (config: Config, args: string[]) => runVerb(name, group, config, args, streams),
      },
    ]),
  )
}

const EXIT = { done: 0, refused: 1, usage: 64, unavailable: 69, configuration: 78 } as const

async function runVerb(
  name: string,
  group: Group,
  config: Config,
  args: string[],
  { out, err }: Streams,
): Promise<number> {
  const [word = '', ...rest] = args
  const verb = Object.hasOwn(group.verbs, word) ? group.verbs[word] : undefined
  const read = verb && readOptions(verb, rest)
  if (!verb || !read || 'problem' in read) {
    if (read && 'problem' in read) err(`${read.problem}\n`)
    for (const [known, one] of Object.entries(group.verbs)) err(`usage: management ${name} ${known}${usageOf(one)}\n`)
    return EXIT.usage
  }
  const { databaseUrl, databaseCa, publicUrl, sealingKeys } = config.values
  const pool = openPool({
    url: databaseUrl as string,
    ...(databaseCa ? { ca: databaseCa } : {}),
    applicationName: `loci-management-${name}`,
    connectionsMax: 2,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  try {
    const schema = await schemaState(pool, MIGRATIONS)
    if (schema.state === 'behind' || schema.state === 'incompatible') {
      err(`${schema.reason}\n`)
      return EXIT.unavailable
    }
    const issuer = { sealer: createSealer(sealingKeys ?? []), publicUrl: publicUrl as string }
    const answer = await verb.run({ pool, issuer, actor: actorName() }, read.given)
    out(`${JSON.stringify(answer)}\n`)
    return EXIT.done
  } catch (error) {
    if (error instanceof SealingKeyMissing) {
      err(`${error.message}\n`)
      return EXIT.configuration
    }
    const told = toApiError(error)
    if (told.code === 'INTERNAL_ERROR') throw error
    err(`${told.message}\n`)
    if (told.status === 400) return EXIT.usage
    return told.status === 503 ? EXIT.unavailable : EXIT.refused
  } finally {
    await pool.close()
  }
}

function readOptions({ required = [], optional = [] }: Verb, args: string[]): { given: Given } | { problem: string } {
  const options = Object.fromEntries([...required, ...optional].map((name) => [name, { type: 'string' as const }]))
  try {
    const { values } = parseArgs({ args: joined(args, Object.keys(options)), options, allowPositionals: false })
    const missing = required.filter((name) => !values[name])
    if (missing.length > 0) return { problem: `${missing.map((name) => `--${name}`).join(', ')}: not given` }
    return { given: values as Given }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** `--name value` → `--name=value`: one public key in 64 begins with a dash, and would be taken for an option. */
function joined(args: string[], names: string[]): string[] {
  const isOption = (text: string | undefined) => text !== undefined && names.some((name) => text === `--${name}`)
  const result: string[] = []
  for (let i = 0; i < args.length; i += 1) {
    const [argument, next] = [args[i] as string, args[i + 1]]
    if (isOption(argument) && next !== undefined && !isOption(next)) {
      result.push(`${argument}=${next}`)
      i += 1
    } else result.push(argument)
  }
  return result
}

function usageOf({ required = [], optional = [] }: Verb): string {
  return [...required.map((name) => ` --${name} …`), ...optional.map((name) => ` [--${name} …]`)].join('')
}

/** Who sits at the machine: a command has no other credential than the right to read its settings. */
function actorName(): string {
  try {
    return `command:${userInfo().username}`
  } catch {
    return 'command'
  }
}

async function cellsAdd({ pool, actor }: Context, given: Given): Promise<object> {
  const cell = await transaction(pool, (sql) =>
    addCell(
      sql,
      {
        name: given.name as string,
        region: given.region as string,
        capacity: integerOf('capacity', given.capacity as string),
        endpoint: given.endpoint as string,
        publicKeys: listOf(given['public-key'] as string).map(publicKeyFrom),
        tenantId: given.tenant ?? null,
      },
      actor,
    ),
  )
  const { id, name, region, capacity, endpoint, publicKeys } = cell
  return { cell_id: id, name, region, capacity, endpoint, public_keys: publicKeys }
}

async function instancesAdd({ pool, actor }: Context, given: Given): Promise<object> {
  const plan = PLAN_NAMES.find((name) => name === given.plan) as PlanName | undefined
  if (!plan) throw new ApiError('VALIDATION_ERROR', `--plan is one of ${PLAN_NAMES.join(', ')}.`)
  return transaction(pool, async (sql) => {
    const cell = await requireCell(sql, given.cell as string)
    const organization = await ensureOrganization(sql, given.org as string, actor)
    const wanted = { organizationId: organization.id, nameOrId: given.tenant as string, plan }
    const tenant = await ensureTenant(sql, wanted, actor)
    const serviceType = given['service-type'] ?? 'memory'
    const service = await addInstance(sql, { tenant, cell, plan, name: given.name ?? serviceType, serviceType }, actor)
    return {
      organization_id: organization.id,
      tenant_id: tenant.id,
      service_id: service.id,
      service_type: service.serviceType,
      name: service.name,
      slug: service.slug,
      plan: service.plan,
      region: service.region,
      cell_id: cell.id,
      endpoint: cell.endpoint,
      status: service.status,
    }
  })
}

async function tokensMint({ pool, issuer, actor }: Context, given: Given): Promise<object> {
  await keepKeys(pool, issuer.sealer)
  return transaction(pool, async (sql) => {
    const service = await useService(sql, given.service as string)
    const request = {
      name: given.name,
      ops: given.ops === undefined || given.ops === 'all' ? undefined : listOf(given.ops),
      databases: given.databases === undefined ? undefined : listOf(given.databases),
      ttlSeconds: given.ttl === undefined ? undefined : integerOf('ttl', given.ttl),
      maxDelegationDepth: given.depth === undefined ? undefined : integerOf('depth', given.depth),
      holderKey: given['holder-key'] === undefined ? undefined : jsonOf('holder-key', given['holder-key']),
      sub: given.sub,
    }
    return mintToken(sql, issuer, service, request, actor)
  })
}

async function tokensRevoke({ pool, actor }: Context, given: Given): Promise<object> {
  const notBefore = new Date(given['not-before'] ?? Date.now())
  if (Number.isNaN(notBefore.getTime()))
    throw new ApiError('VALIDATION_ERROR', '--not-before is a time such as 2026-11-15T09:30:00Z.')
  if (given.jti === undefined) return revokeScope({ pool, actor }, given, notBefore)
  if (given.tenant ?? given.org ?? given['not-before'])
    throw new ApiError('VALIDATION_ERROR', '--jti names one token: give --service with it, or nothing else.')
  const jti = given.jti
  return transaction(pool, async (sql) => {
    const serviceId = given.service ?? (await findOwner(sql, jti))?.serviceId
    if (!serviceId)
      throw new ApiError('NOT_FOUND', `${jti} is not a token that we issued: name its service too, with --service.`)
    const service = await useService(sql, serviceId)
    const { expiresAt, auditId } = await revokeToken(sql, service, jti, actor)
    return { revoked: true, jti, service_id: serviceId, expires_at: expiresAt.toISOString(), audit_id: auditId }
  })
}

async function revokeScope(
  { pool, actor }: Pick<Context, 'pool' | 'actor'>,
  given: Given,
  notBefore: Date,
): Promise<object> {
  const scopes = (['service', 'tenant', 'org'] as const).filter((name) => given[name] !== undefined)
  const [scope] = scopes
  if (scopes.length !== 1 || !scope)
    throw new ApiError('VALIDATION_ERROR', 'Name exactly one of --jti, --service, --tenant and --org.')
  const id = given[scope] as string
  return transaction(pool, async (sql) => {
    const kind = ({ service: 'svc', tenant: 'ten', org: 'org' } as const)[scope]
    const owner =
      scope === 'org' ? await organizationOwner(sql, id) : isId(kind, id) ? await findOwner(sql, id) : undefined
    if (!owner) throw new ApiError('NOT_FOUND', `There is no ${scope} ${id}.`)
    const { organizationId, cellId } = owner
    const { expiresAt, auditId } = await revokeEpoch(sql, { kind, id, organizationId, cellId, notBefore }, actor)
    return {
      revoked: true,
      kind,
      id,
      not_before: notBefore.toISOString(),
      expires_at: expiresAt.toISOString(),
      audit_id: auditId,
    }
  })
}

async function organizationOwner(sql: Sql, id: string): Promise<{ organizationId: string; cellId: null } | undefined> {
  const found = (await listOrganizations(sql, id)).find((organization) => organization.id === id)
  return found && { organizationId: found.id, cellId: null }
}

async function partnerCredentialsMint({ pool, actor }: Context, given: Given): Promise<object> {
  const expiresAt = given['expires-at'] === undefined ? undefined : new Date(given['expires-at'])
  if (expiresAt && Number.isNaN(expiresAt.getTime()))
    throw new ApiError('VALIDATION_ERROR', '--expires-at is a time such as 2027-01-01T00:00:00Z.')
  return transaction(pool, async (sql) => {
    const service = await useService(sql, given.service as string)
    const request = {
      name: given.name as string,
      database: given.database as string,
      partner: given.partner,
      projectionClasses: given.classes === undefined ? undefined : listOf(given.classes),
      routes: given.routes === undefined ? undefined : listOf(given.routes),
      expiresAt,
    }
    const { credential, token } = await mintPartnerCredential(sql, service, request, actor)
    return {
      id: credential.id,
      token,
      organization_id: credential.organizationId,
      tenant_id: credential.tenantId,
      service_id: credential.serviceId,
      name: credential.name,
      partner: credential.partner,
      database: credential.database,
      projection_classes: credential.projectionClasses,
      routes: credential.routes,
      created_at: credential.createdAt.toISOString(),
      expires_at: credential.expiresAt?.toISOString() ?? null,
    }
  })
}

async function partnerCredentialsRevoke({ pool, actor }: Context, given: Given): Promise<object> {
  const id = given.id as string
  return transaction(pool, async (sql) => {
    const serviceId = isId('ptr', id) ? (await findOwner(sql, id))?.serviceId : undefined
    if (!serviceId) throw new ApiError('NOT_FOUND', `There is no partner credential ${id}.`)
    const service = await useService(sql, serviceId)
    const { revokedAt } = await revokePartnerCredential(sql, service, id, actor)
    return { revoked: true, id, service_id: serviceId, revoked_at: revokedAt?.toISOString() ?? null }
  })
}

async function keysRotate({ pool, issuer, actor }: Context): Promise<object> {
  // What is due first: a rotation that waits only for somebody to look must not refuse the next one.
  const isFirst = (await listKeyRows(pool)).length === 0
  if (!isFirst) await keepKeys(pool, issuer.sealer)
  return keyJson(await transaction(pool, (sql) => rotateKeys(sql, issuer.sealer, actor)))
}

async function keysList({ pool }: Context): Promise<object> {
  return { keys: (await listKeyRows(pool)).map(keyJson) }
}

function keyJson({ kid, x, state, createdAt, signedUntil, retireAt }: SigningKeyRow): object {
  return {
    kid,
    x,
    state,
    created_at: createdAt.toISOString(),
    signed_until: signedUntil.toISOString(),
    retire_at: retireAt?.toISOString() ?? null,
  }
}

async function feedNewEpoch({ pool, actor }: Context): Promise<object> {
  return transaction(pool, async (sql) => {
    await raiseEpoch(sql)
    const epoch = await readEpoch(sql)
    const entry = { actor, action: 'feed.new_epoch', subject: epoch, detail: {} }
    return { epoch, audit_id: await appendAudit(sql, { ...entry, chain: PLATFORM_CHAIN }) }
  })
}

/** The service, with its organization in use for the rest of the transaction. */
async function useService(sql: Sql, id: string): Promise<Service> {
  const owner = isId('svc', id) ? await findOwner(sql, id) : undefined
  if (!owner) throw new ApiError('NOT_FOUND', `There is no service ${id}.`)
  await useOrganization(sql, owner.organizationId)
  return requireService(sql, owner.organizationId, id)
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function integerOf(name: string, text: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new ApiError('VALIDATION_ERROR', `--${name} must be a whole number.`)
  return Number(text)
}

function jsonOf(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ApiError('VALIDATION_ERROR', `--${name} must be JSON.`)
  }
}

/** The x of the key itself, or a file with it or with its JWK. */
function publicKeyFrom(text: string): string {
  if (/^[A-Za-z0-9_-]{43}$/.test(text)) return text
  let content: string
  try {
    content = readFileSync(text, 'utf8').trim()
  } catch {
    throw new ApiError(
      'VALIDATION_ERROR',
      `--public-key is the x of an Ed25519 key or a file with it; '${text}' is neither.`,
    )
  }
  if (!content.startsWith('{')) return content
  const { x } = jsonOf('public-key', content) as { x?: unknown }
  return String(x)
}
