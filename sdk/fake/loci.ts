// A loci of a test's own, inside its process: the same client, on a server that keeps everything in memory and asks
// nobody. sdk/conformance.json holds it to what the real server does.
//
// It has services, their users, remember, recall, forget, memories, slots (put, get, patch, delete, list, batch) and
// kv. Recall is by shared words, slots leave by age, and nothing has limits of a plan. Other routes answer 501
// NOT_IN_FAKE.

import { newId } from '@loci/contract/ids.ts'
import { Loci } from '../loci.ts'
import { answer, missing, Refusal, refusal } from './answers.ts'
import { Database } from './database.ts'

const URL_OF_FAKE = 'http://loci.fake'

interface FakeService {
  id: string
  name: string
  slug: string
  created_at: string
  databases: Map<string, Database>
}

/** A client of its own world; two of them share nothing. */
export function fakeLoci(): Loci {
  const services = new Map<string, FakeService>()
  const send = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
    try {
      return respond(services, new URL(String(input)), init)
    } catch (error) {
      return refusal(error)
    }
  }
  return new Loci({ url: URL_OF_FAKE, apiKey: 'loci_sk_fake', fetch: send as typeof fetch })
}

function respond(services: Map<string, FakeService>, url: URL, init: RequestInit): Response {
  const body = init.body === undefined || init.body === null ? {} : JSON.parse(String(init.body))
  const { pathname, searchParams } = url
  const headers = new Headers(init.headers)
  const [, serviceId, path] = /^\/data\/(svc_\w+)(\/v1\/.*)$/.exec(pathname) ?? []
  if (serviceId === undefined || path === undefined) return manage(services, `${init.method} ${pathname}`, body)
  const { databases } = serviceOf(services, serviceId)
  if (path.startsWith('/v1/databases')) return answer(oversee(databases, `${init.method} ${path}`))
  const name = headers.get('x-loci-database') ?? 'default'
  if (!/^[a-z0-9_-]{1,64}$/.test(name))
    throw new Refusal(400, 'VALIDATION_ERROR', 'x-loci-database: must be 1 to 64 of a-z0-9_-')
  const database = databases.get(name) ?? new Database()
  databases.set(name, database)
  const { line, key } = lineOf(init.method ?? 'GET', path)
  const demand = { ifMatch: headers.get('if-match'), ifNoneMatch: headers.get('if-none-match') }
  const said = database.answer(line, key, body, searchParams, demand)
  if (said === undefined) throw new Refusal(501, 'NOT_IN_FAKE', `The fake has no ${line}; use a real loci for it.`)
  return answer(said)
}

function oversee(databases: Map<string, Database>, line: string): object {
  if (line === 'GET /v1/databases') {
    const known = [...databases].flatMap(([name, database]) => {
      const held = database.holds()
      return held ? [{ name, ...held }] : []
    })
    return { databases: known.toSorted((a, b) => (a.name < b.name ? -1 : 1)), nextCursor: null }
  }
  const name = decodeURIComponent(line.split('/').at(-1) ?? '')
  if (!databases.get(name)?.holds()) throw missing('database')
  databases.delete(name)
  return { deleted: true, name, receipt: newId('aud'), ledgered: 'cell' }
}

/** What is a thing's own stands in braces. */
function lineOf(method: string, path: string): { line: string; key: string } {
  const things = /^(\/v1\/(?:kv\/entries|working-memory\/slots|memory\/records))\/([^/]+)$/.exec(path)
  const [, list, last = ''] = things ?? []
  const isVerb = method === 'POST'
  if (list === undefined || isVerb) return { line: `${method} ${path}`, key: '' }
  return { line: `${method} ${list}/{}`, key: decodeURIComponent(last) }
}

function manage(services: Map<string, FakeService>, line: string, body: { [field: string]: unknown }): Response {
  const [, id] = /^\w+ \/api\/v1\/services\/(svc_\w+)$/.exec(line) ?? []
  if (line === 'POST /api/v1/services') {
    const name = String(body.name)
    const slug = `${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}-${services.size + 1}`
    const made = { id: newId('svc'), name, slug, created_at: new Date().toISOString(), databases: new Map() }
    services.set(made.id, made)
    return answer({ service_id: made.id, name, slug, status: 'provisioning', estimated_ready_in: 0 }, 202)
  }
  if (line === 'GET /api/v1/services') {
    const listed = [...services.values()].toReversed().map(shown)
    return answer({ services: listed, total: listed.length })
  }
  if (id !== undefined && line.startsWith('GET ')) return answer(shown(serviceOf(services, id)))
  if (id !== undefined && line.startsWith('DELETE ')) {
    services.delete(serviceOf(services, id).id)
    return answer(
      { id: newId('op'), service_id: id, kind: 'delete', status: 'succeeded', percent: 100, steps: [] },
      202,
    )
  }
  if (/^POST \/api\/v1\/tenants\/\w+\/tokens$/.test(line)) return answer({ token: 'fake', expires_in: 3_600 }, 201)
  throw new Refusal(501, 'NOT_IN_FAKE', `The fake has no ${line}; use a real loci for it.`)
}

function serviceOf(services: Map<string, FakeService>, id: string): FakeService {
  const found = services.get(id)
  if (!found) throw missing('service')
  return found
}

function shown({ id, name, slug, created_at }: FakeService): object {
  return {
    ...{ id, name, slug, created_at, updated_at: created_at, tenant_id: 'ten_fake', status: 'active', plan: 'free' },
    ...{ service_type: 'memory', service_type_id: 'memory', endpoint: `${URL_OF_FAKE}/data/${id}`, config: {} },
    ...{ region: 'fake', cell: null, status_reason: null, operation_id: null },
  }
}
