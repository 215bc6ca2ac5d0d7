// What a client can read and attach by itself, without a model asking for it: the same routes as the tools, by name.

import { ApiError } from '@loci/chassis/api-error.ts'
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '@modelcontextprotocol/server'
import type { McpCall } from './calls.ts'
import { type Answer, withinRoom, withoutEmptyWithin } from './shown.ts'
import { type Routes, TOOLS } from './tools.ts'

interface Resource {
  /** `{id}` stands for one part. */
  uri: string
  name: string
  title: string
  description: string
  /** Whose operation it needs; a resource without one is what the credential says itself. */
  route?: string
  read(routes: Routes, id: string, call: McpCall): Promise<Answer> | Answer
}

const JSON_TYPE = 'application/json'

const RESOURCES: Resource[] = [
  {
    uri: 'loci://working-memory',
    name: 'working-memory',
    title: 'Working memory',
    description: 'What is in mind now, strongest first.',
    route: TOOLS.working_memory.route,
    read: async (routes) => (await TOOLS.working_memory.use(routes, {}, '')).content,
  },
  {
    uri: 'loci://memory/{id}',
    name: 'memory',
    title: 'A memory',
    description: 'A memory word for word, by the id that recall gives.',
    route: 'GET /v1/memory/records/{id}',
    read: ({ ask }, id) => ask('GET /v1/memory/records/{id}', { params: { id } }),
  },
  {
    uri: 'loci://cycles/{id}',
    name: 'cycle',
    title: 'A cycle',
    description: 'What a cycle did, by the id that run_cycle gives.',
    route: 'GET /v1/cognitive/cycles/{id}',
    read: ({ ask }, id) => ask('GET /v1/cognitive/cycles/{id}', { params: { id } }),
  },
  {
    uri: 'loci://status',
    name: 'status',
    title: 'Status',
    description: 'Which service and database this connection reaches, in which state, and with which rights.',
    read: (_, __, { caller: { instance, database, ops } }) => ({
      ...{ service: instance.id, state: instance.state, database },
      operations: [...ops].sort(),
    }),
  },
]

/** Listed only with the operation of its route, as tools are. */
export function listResources(isAllowed: (line: string) => boolean) {
  return shownOf(isAllowed, false).map(({ uri, name, title, description }) => ({
    ...{ uri, name, title, description, mimeType: JSON_TYPE },
  }))
}

export function listTemplates(isAllowed: (line: string) => boolean) {
  return shownOf(isAllowed, true).map(({ uri: uriTemplate, name, title, description }) => ({
    ...{ uriTemplate, name, title, description, mimeType: JSON_TYPE },
  }))
}

function shownOf(isAllowed: (line: string) => boolean, isTemplate: boolean): Resource[] {
  return RESOURCES.filter(
    ({ uri, route }) => uri.includes('{') === isTemplate && (route === undefined || isAllowed(route)),
  )
}

export async function readResource(uri: string, routes: Routes, call: McpCall) {
  for (const resource of RESOURCES) {
    const id = idOf(resource.uri, uri)
    if (id === undefined) continue
    try {
      const text = JSON.stringify(withinRoom(withoutEmptyWithin(await resource.read(routes, id, call)) as Answer))
      return { contents: [{ uri, mimeType: JSON_TYPE, text }] }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.status === 404) throw new ResourceNotFoundError(uri)
      const code = error.status >= 500 ? ProtocolErrorCode.InternalError : ProtocolErrorCode.InvalidParams
      throw new ProtocolError(code, error.message, { code: error.code })
    }
  }
  throw new ResourceNotFoundError(uri)
}

/** What stands for `{id}`; empty where there is none; undefined where the uri is of another resource. */
function idOf(template: string, uri: string): string | undefined {
  const [before, after] = template.split('{id}')
  if (after === undefined) return uri === template ? '' : undefined
  const id = uri.startsWith(before as string) ? uri.slice((before as string).length) : ''
  return /^[\w-]{1,200}$/.test(id) ? id : undefined
}
