// Services of an organization: made, awaited, found, deleted.

import type { CallOptions, Client, HeaderFields } from './client.ts'
import type { DaemonOperations, DatabaseDeleted, DatabaseErasing, DatabaseList } from './daemon.ts'
import { LociError } from './error.ts'
import { type FollowOptions, follow, type ServiceEvent } from './events.ts'
import type {
  CreateServiceRequest,
  Service as Described,
  ManagementOperations,
  Operation,
  TokenList,
  TokenRequest,
  TokenResponse,
} from './management.ts'
import { type Paged, paged } from './pages.ts'
import { User } from './user.ts'

type Options = Omit<CallOptions, 'headers' | 'repeatable'>

/** A list shows less of each than asking for one. */
export type ServiceInfo = Pick<Described, 'id' | 'tenant_id' | 'name' | 'slug' | 'endpoint' | 'status'> &
  Partial<Described>

export interface Progress {
  status: Operation['status']
  percent: number
  /** The step that is under way, or the last one. */
  step: string | undefined
  steps: Operation['steps']
}

export interface ReadyOptions {
  /** 120 s unless told. */
  timeoutMs?: number | undefined
  /** Called with what is known at first, and after each change. */
  onProgress?: ((progress: Progress) => void) | undefined
  signal?: AbortSignal | undefined
}

/** The service as soon as it was accepted, or with `.ready()` when it serves. */
export type Creating = Promise<Service> & { ready(options?: ReadyOptions): Promise<Service> }

export interface CreateService extends Omit<CreateServiceRequest, 'service_type'> {
  /** Default: memory. */
  type?: 'memory' | 'kv' | 'graph' | (string & Record<never, never>) | undefined
}

/** What services need of the client that they belong to. */
export interface Home {
  management: Client<ManagementOperations>
  /** With the credential of the service, and these headers. */
  daemonOf(service: Service, headers: HeaderFields): Promise<Client<DaemonOperations>>
  /** With the right of an operator. */
  operatorOf(service: Service): Promise<Client<DaemonOperations>>
}

export interface ServiceQuery {
  status?: 'provisioning' | 'active' | 'updating' | 'suspended' | 'failed' | 'deleting' | 'deleted' | undefined
  type?: string | undefined
  tenantId?: string | undefined
}

const PAGE = 100

export class Services {
  readonly #home: Home

  constructor(home: Home) {
    this.#home = home
  }

  /** A repeat of a request whose answer was lost makes no second one. */
  create(
    { type = 'memory', ...given }: CreateService,
    options: Options & { idempotencyKey?: string | undefined } = {},
  ): Creating {
    const made = this.#create({ service_type: type, ...given }, options)
    return Object.assign(made, { ready: async (until?: ReadyOptions) => (await made).ready(until) })
  }

  async #create(body: CreateServiceRequest, options: Options): Promise<Service> {
    const answer = await this.#home.management.call('POST /api/v1/services', { ...options, body })
    // `/api/v1/operations/op_…`
    const operation = answer.headers.get('operation-location')?.split('/').at(-1)
    return new Service(this.#home, answer.body.service_id, { operation })
  }

  /** By id, slug or name. */
  async get(which: string, options: Options = {}): Promise<Service> {
    const service = new Service(this.#home, which)
    await service.describe(options)
    return service
  }

  /** Newest first. */
  list({ status, type, tenantId }: ServiceQuery = {}, options: Options = {}): Paged<Service> {
    return paged(async (next) => {
      const offset = Number(next ?? 0)
      const query = { status, service_type: type, tenant_id: tenantId, limit: PAGE, offset }
      const { body } = await this.#home.management.call('GET /api/v1/services', { ...options, query })
      const items = body.services.map((info) => new Service(this.#home, info.id, { info }))
      return { items, next: items.length < PAGE ? undefined : String(offset + items.length) }
    })
  }

  /** With everything in it. */
  async delete(which: string | Service, options: Options = {}): Promise<Operation> {
    const service = typeof which === 'string' ? new Service(this.#home, which) : which
    return service.delete(options)
  }
}

export class Service {
  readonly #home: Home
  readonly #which: string | undefined
  /** What makes it. */
  readonly #operation: string | undefined
  #info: ServiceInfo | undefined
  #asking: Promise<ServiceInfo> | undefined
  /** Where it was last said to be. */
  endpoint: string | undefined

  /** `which` is an id, a slug or a name; undefined: the only one there is. Nothing is asked before it is needed. */
  constructor(
    home: Home,
    which: string | undefined,
    { info, operation }: { info?: ServiceInfo; operation?: string | undefined } = {},
  ) {
    this.#home = home
    this.#which = which
    this.#operation = operation
    this.#keep(info)
  }

  /** Known at once where the service was made or named by id; else after the first request. */
  get id(): string | undefined {
    return this.#info?.id ?? (isId(this.#which) ? this.#which : undefined)
  }

  get info(): ServiceInfo | undefined {
    return this.#info
  }

  /** One user (or team, agent, project) is a database of the service. It comes into being with its first write. */
  user(name: string): User {
    return new User(name, () => this.#home.daemonOf(this, { 'x-loci-database': name }))
  }

  /** Everybody of whom something is kept, by name, and how much. A token needs the right `operator` for it. */
  users(options: Options = {}): Paged<DatabaseList['databases'][number]> {
    return paged(async (cursor) => {
      const daemon = await this.#home.operatorOf(this)
      const { body } = await daemon.call('GET /v1/databases', { ...options, query: { cursor } })
      return { items: body.databases, next: body.nextCursor ?? undefined }
    })
  }

  /**
   * Erases everything of a user. From now on nothing of it is read; `deleted` is false where it is still being erased.
   * A token needs the right `operator` for it.
   */
  async forgetUser(user: string | User, options: Options = {}): Promise<DatabaseDeleted | DatabaseErasing> {
    const daemon = await this.#home.operatorOf(this)
    const name = typeof user === 'string' ? user : user.name
    return (await daemon.call('DELETE /v1/databases/{name}', { ...options, path: { name } })).body
  }

  /** How it is now. */
  async describe(options: Options = {}): Promise<Described> {
    const { id } = this
    const { management } = this.#home
    const path = { id: id ?? (await this.#find(options)).id }
    const { body: info } = await management.call('GET /api/v1/services/{id}', { ...options, path })
    this.#keep(info)
    return info
  }

  /** Its description, asked for once, also by many calls at a time. */
  async known(): Promise<ServiceInfo> {
    if (this.#info?.endpoint) return this.#info
    this.#asking ??= this.describe().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  /** Resolves when it serves; throws with the reason when it will not. */
  async ready({ timeoutMs = 120_000, onProgress, signal }: ReadyOptions = {}): Promise<Service> {
    const endsAt = performance.now() + timeoutMs
    const leftMs = () => endsAt - performance.now()
    let told: Progress | undefined
    const look = async (id: string, waitS: number) => {
      const path = { id }
      const query = { wait: Math.max(0, Math.min(waitS, Math.ceil(leftMs() / 1_000))) }
      const call = { path, query, attemptMs: (query.wait + 10) * 1_000, signal }
      const progress = progressOf((await this.#home.management.call('GET /api/v1/operations/{id}', call)).body)
      if (JSON.stringify(progress) !== JSON.stringify(told)) onProgress?.(progress)
      told = progress
    }
    let operation = this.#operation
    for (;;) {
      // Steps are told as they pass, so no longer than a second between two looks.
      if (operation !== undefined) await look(operation, onProgress ? 1 : 10)
      const info = await this.describe({ signal })
      if (info.status === 'active') {
        if (onProgress && operation !== undefined && told?.status !== 'succeeded') await look(operation, 0)
        return this
      }
      if (info.status !== 'provisioning' && info.status !== 'updating') throw notComing(info)
      if (leftMs() <= 0) throw stillComing(info, timeoutMs)
      operation = info.operation_id ?? undefined
      if (operation === undefined) await new Promise((resolve) => setTimeout(resolve, 250))
    }
  }

  /** With everything in it. */
  async delete(options: Options = {}): Promise<Operation> {
    const id = await this.#id()
    return (await this.#home.management.call('DELETE /api/v1/services/{id}', { ...options, path: { id } })).body
  }

  /** A token for this service, for somebody else. It is shown once. */
  async createToken(
    {
      databases,
      ops,
      ttlSeconds,
      depth,
      name,
    }: Pick<TokenRequest, 'databases' | 'ops' | 'name'> & { ttlSeconds?: number; depth?: number } = {},
    options: Options = {},
  ): Promise<TokenResponse> {
    const { id, tenant_id } = await this.known()
    const body = { service_id: id, databases, ops, name, ttl_seconds: ttlSeconds, max_delegation_depth: depth }
    const call = { ...options, path: { id: tenant_id }, body }
    return (await this.#home.management.call('POST /api/v1/tenants/{id}/tokens', call)).body
  }

  /** Newest first, never their text. */
  tokens(options: Options = {}): Paged<TokenList['tokens'][number]> {
    return paged(async (cursor) => {
      const { id, tenant_id } = await this.known()
      const call = { ...options, path: { id: tenant_id }, query: { service_id: id, cursor } }
      const { body } = await this.#home.management.call('GET /api/v1/tenants/{id}/tokens', call)
      return { items: body.tokens, next: body.next_cursor ?? undefined }
    })
  }

  /** Every daemon refuses it within seconds, and every link that was made from it. */
  async revokeToken(tokenId: string, options: Options = {}): Promise<void> {
    const { id, tenant_id } = await this.known()
    await this.#home.management.call('DELETE /api/v1/tenants/{id}/tokens/{token_id}', {
      ...options,
      path: { id: tenant_id, token_id: tokenId },
      query: { service_id: id },
    })
  }

  /** What happens in all of its databases. */
  events(options: FollowOptions = {}): AsyncGenerator<ServiceEvent, void, undefined> {
    return follow(() => this.daemon(), '/v1/events', options)
  }

  /** The calls below these verbs, by `METHOD /path`; `database` is that of the header. */
  daemon(database?: string): Promise<Client<DaemonOperations>> {
    return this.#home.daemonOf(this, database === undefined ? {} : { 'x-loci-database': database })
  }

  async #id(): Promise<string> {
    return this.id ?? (await this.describe()).id
  }

  async #find(options: Options): Promise<ServiceInfo> {
    const which = this.#which
    const found: ServiceInfo[] = []
    for await (const { info } of new Services(this.#home).list({}, options)) {
      if (!info) continue
      if (which === undefined) found.push(info)
      // A slug is the only one of its kind; a name need not be.
      else if (info.slug === which) return info
      else if (info.name === which) found.push(info)
    }
    const [only] = found
    if (only && found.length === 1) return only
    const slugs = found.slice(0, 5).map(({ slug }) => slug)
    const named = which === undefined ? 'there' : `called '${which}'`
    if (found.length > 1)
      throw new LociError('INVALID_REQUEST', `${found.length} services are ${named}; which one is meant?`, {
        status: 0,
        hint: `Name it by its slug, such as ${slugs.join(', ')}.`,
      })
    throw new LociError('NOT_FOUND', which === undefined ? 'There is no service yet.' : `No service is ${named}.`, {
      status: 404,
      hint: 'Make one with services.create({ name }).',
    })
  }

  #keep(info: ServiceInfo | undefined): void {
    if (!info) return
    this.#info = info
    this.endpoint = info.endpoint ?? undefined
  }
}

function progressOf({ status, percent, steps }: Operation): Progress {
  const step = steps.find(({ completed_at }) => completed_at === null) ?? steps.at(-1)
  return { status, percent, step: step?.name, steps }
}

function notComing({ id, status, status_reason }: Described): LociError {
  const reason = status_reason ? `: ${status_reason}` : ''
  return new LociError('INVALID_STATE', `The service ${id} is ${status}${reason}.`, { status: 0 })
}

function stillComing({ id, status }: Described, ms: number): LociError {
  return new LociError('TIMEOUT', `The service ${id} is still ${status} after ${Math.round(ms)} ms.`, {
    status: 0,
    retryable: true,
    hint: 'The server goes on with it: call ready() again.',
  })
}

function isId(which: string | undefined): boolean {
  return which !== undefined && /^svc_[0-9a-z]{26}$/.test(which)
}
