import type { ActCall, Acts, RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { readJson } from '@loci/chassis/input.ts'
import { type Route, reply, route } from '@loci/chassis/route.ts'
import { serviceTypeOf } from '@loci/contract/operations.ts'
import {
  createServiceRequest,
  createServiceResponse,
  listServicesQuery,
  listServicesResponse,
  noBody,
  patchServiceRequest,
  rawBody,
  serviceOperation,
  service as serviceSchema,
} from '@loci/contract/services.ts'
import { idPath } from '@loci/contract/wire.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { Caller, CallerAccess } from '../access/caller.ts'
import { readForCaller, requireOwnTenant } from '../access/own.ts'
import type { Rates } from '../access/rates.ts'
import { type CellSwitch, listCellSwitches } from '../acts/switches/store.ts'
import type { OperationEnds } from '../provisioning/operations/end.ts'
import { operationJson } from '../provisioning/operations/json.ts'
import type { Verb } from '../provisioning/service-state.ts'
import {
  commandService,
  createService,
  endpointOf,
  patchService,
  requireServiceRequest,
  requireVisible,
  type ServiceRules,
} from './services.ts'
import { countServices, listServices, type Service, searchServices } from './store.ts'

interface ServiceOptions {
  caller: CallerAccess
  rates: Rates
  pool: Pool
  rules: ServiceRules
  act: RunAct<Caller>
  /** Of creations: the specification orders the stored answer for another body too. */
  creations: Acts<Caller>
  ends: OperationEnds
}

const params = idPath
const ERASED_MS = 500

export function serviceRoutes(options: ServiceOptions): Route[] {
  const { caller, rates, pool, rules, act, creations, ends } = options

  function judged<Value>(whose: Caller, body: Buffer, judge: () => Value): Value {
    try {
      return judge()
    } catch (error) {
      rates.noteRefused(whose, body.length)
      throw error
    }
  }

  return [
    route(
      {
        method: 'POST',
        path: '/api/v1/services',
        // The limit is the handler's: the specification has the idempotency key, or the body, looked at before it.
        access: caller.scope('services:write', 'write', 'by the route'),
        tag: 'services',
        summary: 'Create a service.',
        details: 'It is made in the background: follow Operation-Location.',
        body: rawBody,
        bodyRaw: true,
        documentedBody: createServiceRequest,
        answers: { 202: createServiceResponse },
        errors: ['QUOTA_EXCEEDED', 'PLAN_NOT_COVERED', 'PAYMENT_REQUIRED', 'SLUG_TAKEN', 'SERVICE_TYPE_UNAVAILABLE'],
        failureMessage: 'Failed to create service',
        unknownIsInternal: true,
        requestHeaders: {
          'Idempotency-Strict': '`true`: a known Idempotency-Key with another body is refused with 422.',
        },
        answerHeaders: {
          'Idempotent-Replayed': '`true`: the stored answer of the first request with this Idempotency-Key.',
          'Idempotency-Body-Differs':
            '`true`: a replay to another body than the first, or to one that cannot be compared.',
        },
      },
      async (call) => {
        const { caller, requestId, answer } = call
        // The specification's order. A known key is answered whatever the body is: missing, broken, of another content
        // type.
        const sent = readSent(call.headers, call.body as Buffer)
        const takeRate = () => rates.take(caller, 'write', answer, 'services')
        const replayed = await creations.replay(call, takeRate, { request: sent.request })
        if (replayed) return replayed
        const request = judged(caller, call.body as Buffer, () => {
          if (sent.refusal) throw sent.refusal
          return requireServiceRequest(rules, sent.request)
        })
        await takeRate()
        const create = async (sql: Sql) => {
          const { service, operation, estimatedReadyIn } = await createService(
            sql,
            rules,
            { caller, requestId },
            request,
          )
          return {
            status: 202,
            body: {
              service_id: service.id,
              service_type: service.serviceType,
              name: service.name,
              slug: service.slug,
              status: 'provisioning',
              created_at: service.createdAt.toISOString(),
              estimated_ready_in: estimatedReadyIn,
            },
            headers: {
              location: `/api/v1/services/${service.id}`,
              'operation-location': `/api/v1/operations/${operation.id}`,
            },
          }
        }
        return creations.act(call, create, { request: sent.request })
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/v1/services',
        access: caller.scope('services:read', 'read', 'by the route'),
        tag: 'services',
        summary: 'List the services of the organization, newest first.',
        details: 'Deleted ones only when asked for.',
        query: listServicesQuery,
        answers: { 200: listServicesResponse },
        failureMessage: 'Failed to list services',
        unknownIsInternal: true,
      },
      async ({ caller, query, answer }) => {
        await rates.take(caller, 'read', answer, 'services')
        const { limit, offset } = query
        const { service_type: type } = query
        const filter = { serviceType: type && (serviceTypeOf(type) ?? type), status: query.status }
        const { q } = query
        // One snapshot: the total and the page are of the same moment.
        const found = await readForCaller(
          pool,
          caller,
          async (sql) => {
            const tenantIds = await tenantsAsked(sql, caller, query.tenant_id)
            if (q !== undefined)
              return searchServices(sql, caller.organizationId, { ...filter, tenantIds }, { q, limit, offset })
            const total = await countServices(sql, caller.organizationId, { ...filter, tenantIds })
            if (offset >= total) return { total, services: [] }
            const page = { limit, offset }
            return { total, services: await listServices(sql, caller.organizationId, { ...filter, tenantIds }, page) }
          },
          { isolation: 'repeatable read' },
        )
        const searched = 'searchedAll' in found ? { searched_all: found.searchedAll } : {}
        const pagination = { total: found.total, limit, offset, ...searched }
        return { services: found.services.map(listedJson), pagination }
      },
    ),
    route(
      {
        method: 'GET',
        path: '/api/v1/services/{id}',
        access: caller.scope('services:read', 'read'),
        tag: 'services',
        summary: 'Read a service.',
        params,
        answers: { 200: serviceSchema },
        errors: ['NOT_FOUND'],
        failureMessage: 'Failed to read service',
      },
      ({ caller, params }) =>
        readForCaller(pool, caller, async (sql) => {
          const found = await requireVisible(sql, caller, params.id)
          const switches = found.cellId === null ? [] : await listCellSwitches(sql, found.cellId)
          return { ...serviceJson(found), subservices: switches.map(switchJson) }
        }),
    ),
    route(
      {
        method: 'PATCH',
        path: '/api/v1/services/{id}',
        access: caller.scope('services:write', 'write'),
        tag: 'services',
        summary: 'Rename a service, or change its plan or config.',
        details: '202 with an operation when the change must reach its cell.',
        params,
        body: patchServiceRequest,
        answers: { 200: serviceSchema, 202: serviceOperation },
        errors: ['NOT_FOUND', 'INVALID_STATE', 'PLAN_NOT_COVERED', 'PAYMENT_REQUIRED'],
        failureMessage: 'Failed to change service',
      },
      async (call) => {
        const { caller, params, requestId } = call
        // The config is not kept with the answer: it may be large, and it must be gone when the service is.
        const fill = async (sql: Sql, kept: object) =>
          'config' in kept ? { ...kept, config: (await requireVisible(sql, caller, params.id)).config } : kept
        const change = async (sql: Sql) => {
          const wanted = { id: params.id, change: call.body }
          const { operation, service } = await patchService(sql, rules, { caller, requestId }, wanted)
          if (!operation) {
            const renamed = serviceJson(service)
            return { status: 200, body: renamed, kept: { ...renamed, config: null } }
          }
          return accepted(operationJson({ ...operation, serviceId: service.id }))
        }
        return act(call, change, { fill })
      },
    ),
    route(
      {
        method: 'DELETE',
        path: '/api/v1/services/{id}',
        access: caller.scope('services:write', 'write'),
        tag: 'services',
        summary: 'Delete a service and everything in it.',
        details: 'Its quota is free at once.',
        params,
        answers: { 202: serviceOperation },
        errors: ['NOT_FOUND', 'INVALID_STATE'],
        failureMessage: 'Failed to delete service',
      },
      async (call) => {
        const answer = await command(call, 'delete')
        if (answer.headers['idempotent-replayed']) return answer
        // Whoever lists right afterwards should not see it any more: most are erased in less time than that. It is
        // accepted already: what goes wrong with the wait is no refusal.
        const { id } = answer.body as { id: string }
        const { caller, signal, yieldSlot } = call
        const operation = await ends.wait(caller, id, ERASED_MS, signal, yieldSlot).catch(() => undefined)
        return operation ? reply(answer.status, operationJson(operation), answer.headers) : answer
      },
    ),
    ...(['suspend', 'resume', 'retry'] as const).map((verb) =>
      route(
        {
          method: 'POST',
          path: `/api/v1/services/{id}/${verb}`,
          access: caller.scope('services:write', 'write'),
          tag: 'services',
          ...SAID[verb],
          params,
          body: noBody,
          bodyOptional: true,
          answers: { 202: serviceOperation },
          errors: ['NOT_FOUND', 'INVALID_STATE', 'QUOTA_EXCEEDED', 'PLAN_NOT_COVERED', 'PAYMENT_REQUIRED'],
          failureMessage: `Failed to ${verb} service`,
        },
        (call) => command(call, verb),
      ),
    ),
  ]

  function command(call: ActCall<Caller> & { params: { id: string } }, verb: Verb) {
    const { caller, params, requestId } = call
    return act(call, async (sql) => {
      const { operation, service } = await commandService(sql, rules, { caller, requestId }, { id: params.id, verb })
      return accepted(operationJson({ ...operation, serviceId: service.id }))
    })
  }
}

type Headers = Record<string, string | string[] | undefined>

/** The body, or why it cannot be read: that is answered only after a known key was looked for. */
function readSent(headers: Headers, bytes: Buffer): { request?: unknown; refusal?: unknown } {
  try {
    return { request: readJson(headers, bytes) }
  } catch (refusal) {
    return { refusal }
  }
}

const SAID = {
  suspend: { summary: 'Suspend a service, which refuses writes until it is resumed.', details: 'Nothing is lost.' },
  resume: { summary: 'Resume a suspended service, which accepts writes again.' },
  retry: { summary: 'Retry the reconciliation of a service at once.', details: 'A failed one is tried anew.' },
}

function accepted(operation: { id: string }) {
  return { status: 202, body: operation, headers: { 'operation-location': `/api/v1/operations/${operation.id}` } }
}

/** What the caller may see of what it asked for; a tenant that is not its own is 403, as one that does not exist. */
async function tenantsAsked(sql: Sql, caller: Caller, tenantId: string | undefined) {
  if (tenantId === undefined) return caller.tenantIds ?? undefined
  await requireOwnTenant(sql, caller, tenantId)
  return [tenantId]
}

function listedJson(service: Service) {
  return {
    id: service.id,
    service_type_id: service.serviceType,
    tenant_id: service.tenantId,
    name: service.name,
    slug: service.slug,
    endpoint: endpointOf(service),
    plan: service.plan,
    region: service.region,
    status: service.status,
    status_reason: service.statusReason,
    created_at: service.createdAt.toISOString(),
  }
}

function serviceJson(service: Service) {
  return {
    ...listedJson(service),
    config: service.config,
    service_type: service.serviceType,
    cell: service.cellId,
    operation_id: service.operationId,
    updated_at: service.updatedAt.toISOString(),
  }
}
/** For whoever has a service there: who switched and why is the business of staff. */
function switchJson({ name, enabled, since, autoRevertAt }: CellSwitch) {
  return { name, enabled, since: since.toISOString(), auto_revert_at: autoRevertAt?.toISOString() ?? null }
}
