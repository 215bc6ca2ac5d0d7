// The client by verbs. One credential is enough: an API key (management, and daemons by capabilities that are minted
// when they are needed), a capability (one service, at its own address), or none in a page of management's own, where
// the session of the browser counts and daemons are reached through management.

import { HEADER } from '@loci/contract/headers.ts'
import { claimsOf } from './attenuate.ts'
import { type Capabilities, type CapabilityStore, mintedCapabilities } from './capabilities.ts'
import { type Client, connectDaemon, connectManagement, type HeaderFields, type Patience } from './client.ts'
import type { DaemonOperations } from './daemon.ts'
import { LociError } from './error.ts'
import type { ManagementOperations } from './management.ts'
import { Service, Services } from './services.ts'
import type { Telemetry } from './spans.ts'

export interface LociOptions extends Patience {
  /** Of management; with a capability as `token`, that of its service. In a page by default the page's own origin. */
  url?: string | undefined
  /** `loci_sk_…` */
  apiKey?: string | undefined
  /** A capability for one service, or an API key. */
  token?: string | undefined
  /** Which service `service()` means where it is not told: id, slug or name. */
  service?: string | undefined
  /** For somebody who is signed in and belongs to several. */
  organization?: string | undefined
  fetch?: typeof globalThis.fetch | undefined
  /** Calls as spans of OpenTelemetry: without it where the program registered an SDK; false: never. */
  telemetry?: Telemetry | false | undefined
  /** Where capabilities are kept beyond the life of this program. */
  capabilities?: CapabilityStore | undefined
}

export class Loci {
  readonly services: Services
  /** The calls of management by `METHOD /path`. */
  readonly management: Client<ManagementOperations>
  readonly #options: LociOptions & { url: string }
  readonly #capabilities: Capabilities
  /** Over all users only the right of an operator reaches; it is asked for when it is needed, and for minutes. */
  readonly #operators: Capabilities
  /** Undefined unless the credential is a capability. */
  readonly #bound: { serviceId: string; token: string } | undefined
  readonly #apiKey: string | undefined
  #refreshing: Promise<boolean> | undefined

  constructor(given: LociOptions = {}) {
    const { url = ownOrigin(), token } = given
    if (url === undefined)
      throw new LociError('INVALID_REQUEST', 'The url of loci is missing.', {
        status: 0,
        hint: "new Loci({ url: 'http://127.0.0.1:4400', apiKey: 'loci_sk_…' })",
      })
    this.#options = { ...given, url }
    const isKey = token?.startsWith('loci_sk_')
    this.#apiKey = given.apiKey ?? (isKey ? token : undefined)
    this.#bound = token === undefined || isKey ? undefined : { serviceId: serviceOf(token), token }
    this.management = this.#bound ? noManagement() : this.#connectManagement()
    const home = {
      management: this.management,
      daemonOf: (service: Service, headers: HeaderFields) => this.#daemonOf(service, headers, this.#capabilities),
      operatorOf: (service: Service) => this.#daemonOf(service, {}, this.#operators),
    }
    this.services = new Services(home)
    this.service = (which = given.service ?? this.#bound?.serviceId) => new Service(home, which)
    this.#capabilities = mintedCapabilities(this.management, given.capabilities)
    this.#operators = mintedCapabilities(this.management, undefined, { ops: ['operator'], ttlSeconds: 300 })
  }

  /** By id, slug or name; without one that of the options, or the only one there is. Nothing is asked yet. */
  readonly service: (which?: string) => Service

  #connectManagement(): Client<ManagementOperations> {
    const { url, organization } = this.#options
    const headers = () => (organization === undefined ? {} : { [HEADER.organization]: organization })
    const renew = this.#apiKey === undefined ? () => this.#refreshSession() : undefined
    return connectManagement({ ...this.#passed(), url, apiKey: this.#apiKey, headers, renew })
  }

  /**
   * A session lasts longer than its access token. All calls that meet its end at once share one refresh; false: nobody
   * is signed in any more, and the calls tell it.
   */
  #refreshSession(): Promise<boolean> {
    const { url } = this.#options
    // A client of its own: the refusal of a refresh is not answered by another one.
    this.#refreshing ??= connectManagement({ ...this.#passed(), url, attemptsMax: 1 })
      .call('POST /api/auth/refresh')
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        this.#refreshing = undefined
      })
    return this.#refreshing
  }

  async #daemonOf(
    service: Service,
    fields: HeaderFields,
    capabilities: Capabilities,
  ): Promise<Client<DaemonOperations>> {
    const { url, organization } = this.#options
    if (this.#bound) {
      const { token } = this.#bound
      const moved = (endpoint: string) => {
        service.endpoint = endpoint
      }
      const options = { ...this.#passed(), url: service.endpoint ?? url, capability: token, moved }
      return connectDaemon({ ...options, headers: () => fields })
    }
    const info = await service.known()
    if (this.#apiKey === undefined) {
      const through = `${url.replace(/\/+$/, '')}/api/v1/services/${info.id}/proxy`
      const headers = () => ({ ...fields, [HEADER.organization]: organization })
      return connectDaemon({ ...this.#passed(), url: through, headers, renew: () => this.#refreshSession() })
    }
    if (service.endpoint === undefined)
      throw new LociError('INVALID_STATE', `The service ${info.id} is ${info.status} and has no address yet.`, {
        status: 0,
        retryable: true,
        hint: 'Wait for it: await service.ready()',
      })
    const of = { id: info.id, tenantId: info.tenant_id }
    let used = ''
    return connectDaemon({
      ...this.#passed(),
      url: service.endpoint,
      headers: async () => {
        used = await capabilities.of(of)
        return { ...fields, [HEADER.capability]: used }
      },
      renew: async () => {
        await capabilities.refused(of.id, used)
        return true
      },
      moved: (endpoint) => {
        service.endpoint = endpoint
      },
    })
  }

  #passed(): Pick<LociOptions, 'fetch' | 'telemetry' | keyof Patience> {
    const { fetch, telemetry, attemptMs, deadlineMs, attemptsMax } = this.#options
    return { fetch, telemetry, attemptMs, deadlineMs, attemptsMax }
  }
}

/** Of a page, whose session management knows; elsewhere there is none. */
function ownOrigin(): string | undefined {
  const { location } = globalThis as { location?: { origin?: string } }
  return location?.origin?.startsWith('http') ? location.origin : undefined
}

function serviceOf(capability: string): string {
  const { svc } = claimsOf(capability.split('~')[0] ?? '') as { svc?: unknown }
  return typeof svc === 'string' ? svc : ''
}

/** A capability opens its service and nothing of management. */
function noManagement(): Client<ManagementOperations> {
  const refuse = async () => {
    throw new LociError('INVALID_REQUEST', 'A capability opens its own service, not management.', {
      status: 0,
      hint: 'Give an API key, as apiKey or token.',
    })
  }
  return { call: refuse, open: refuse }
}
