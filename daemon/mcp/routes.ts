// The daemon as tools: the Model Context Protocol over streamable HTTP, by its official library, without sessions. Each
// message has a server of its own, which has the tools that its credential allows and no others.

import type { SubserviceGate } from '@loci/chassis/admission.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Route, reply, route } from '@loci/chassis/route.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import { mcpMessage } from '@loci/contract/mcp.ts'
import {
  createMcpHandler,
  isLegacyRequest,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server'
import type { CapabilityAccess } from '../access/capability-access.ts'
import type { McpCall } from './calls.ts'
import { type MetadataOptions, metadataRoutes, withChallenge } from './metadata.ts'
import { createServers, type Message } from './server.ts'

interface McpOptions {
  access: CapabilityAccess
  /** All of the daemon's: a tool is there when its route is. */
  routes: () => readonly Route[]
  gate: SubserviceGate
  version: string
  metadata: MetadataOptions
}

interface Answer {
  status: number
  text: string
}

/** 100 of them held a quiet tenant at 8 to 12 s (measured), and no client of today sends batches. */
const MESSAGES_MAX = 20
/** The first of the codes that JSON-RPC leaves to servers. */
const SERVER_ERROR = -32_000

const SHARED = { tag: 'mcp', subservice: 'mcp', path: '/mcp' } as const

export function mcpRoutes({ access, routes, gate, version, metadata }: McpOptions): Route[] {
  const holder = withChallenge(access.holder(), metadata)
  /** Of the current revision of the protocol; older ones come with a handshake and are served beside it. */
  const current = createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra as unknown as Message), {
    ...{ legacy: 'reject', maxSubscriptions: 0 },
  })
  const serverFor = createServers({ routes, gate, version })
  return [
    ...metadataRoutes(metadata),
    route(
      {
        ...SHARED,
        method: 'POST',
        access: holder,
        summary: 'Send a message of the Model Context Protocol.',
        details: 'The tools are those that the capability has operations for.',
        body: mcpMessage,
        ignoresUnknownNames: true,
        answers: {
          200: mcpMessage,
          202: { contentType: 'application/json', description: 'A notification was taken.' },
          400: { contentType: 'application/json', description: 'An error of the protocol.' },
          406: { contentType: 'application/json', description: 'An error of the protocol.' },
        },
        errors: ['ORIGIN_NOT_ALLOWED'],
      },
      async (call) => {
        requireNoPage(call)
        const { status, text } = await answerOf(call)
        return reply(status, text)
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        access: holder,
        summary: 'Ask for a stream of messages, which this server does not have.',
        details: 'The answer is 405, as the protocol has it.',
        answers: {},
        errors: ['ORIGIN_NOT_ALLOWED', 'METHOD_NOT_ALLOWED'],
      },
      (call) => {
        requireNoPage(call)
        throw new ApiError(
          'METHOD_NOT_ALLOWED',
          'There is no stream to open here: the server sends nothing by itself. Send messages by POST.',
          {
            headers: { allow: 'POST' },
          },
        )
      },
    ),
  ]

  /** The messages of a batch one after the other, each paid before the next begins. */
  async function answerOf(call: McpCall): Promise<Answer> {
    const sent = messageOf(call.body)
    if (!Array.isArray(sent) || sent.length === 0) return answerTo(sent, { call, eventId: call.requestId })
    // A batch inside of a batch is none of the protocol's messages, and would be answered whole.
    if (sent.some(Array.isArray)) throw new ApiError('VALIDATION_ERROR', 'A batch holds messages, no other batches.')
    if (sent.length > MESSAGES_MAX)
      throw new ApiError(
        'VALIDATION_ERROR',
        `A batch has at most ${MESSAGES_MAX} messages; send the rest in another one.`,
      )
    const turn = createTurn()
    const texts: string[] = []
    let refusal: ApiError | undefined
    for (const [at, message] of sent.entries()) {
      await turn()
      if (at > 0) refusal ??= refusalToGoOn(call)
      const { status, text } = refusal
        ? refused(message, refusal)
        : await answerTo(message, { call, eventId: `${call.requestId}-${at + 1}` })
      if (status !== 202) texts.push(text)
    }
    return texts.length === 0 ? { status: 202, text: '' } : { status: 200, text: `[${texts.join(',')}]` }
  }

  async function answerTo(parsedBody: unknown, message: Message): Promise<Answer> {
    const request = new Request('http://daemon/mcp', {
      method: 'POST',
      // Answers are JSON, whatever else a client would take.
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        ...protocolHeaders(message.call),
      },
      body: JSON.stringify(parsedBody),
    })
    if (!(await isLegacyRequest(request, parsedBody)))
      return textOf(await current.fetch(request, { parsedBody, authInfo: { ...NOBODY, extra: { ...message } } }))
    const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
    const server = serverFor(message)
    await server.connect(transport)
    try {
      return await textOf(await transport.handleRequest(request, { parsedBody }))
    } finally {
      await server.close()
    }
  }
}

/** No page needs this route: the console goes through management. A page of another site could be a rebound name. */
function requireNoPage({ headers }: McpCall): void {
  if (headers.origin !== undefined)
    throw new ApiError('ORIGIN_NOT_ALLOWED', 'Pages of browsers may not call this route. Call it from a program.')
}

/** Those of the protocol itself. */
function protocolHeaders({ headers }: McpCall): Record<string, string> {
  const sent = Object.entries(headers).filter(([name, value]) => name.startsWith('mcp-') && typeof value === 'string')
  return Object.fromEntries(sent as [string, string][])
}

/** Members that the protocol does not have are not heard. */
function messageOf(body: unknown): unknown {
  if (Array.isArray(body)) return body.map(messageOf)
  if (typeof body !== 'object' || body === null) return body
  const { jsonrpc, id, method, params, result, error } = body as Record<string, unknown>
  return Object.fromEntries(
    Object.entries({ jsonrpc, id, method, params, result, error }).filter(([, value]) => value !== undefined),
  )
}

/** What is left of a batch is refused once the rate is used up: each message is measured as a request is. */
function refusalToGoOn(call: McpCall): ApiError | undefined {
  try {
    call.goOn()
    return undefined
  } catch (error) {
    if (error instanceof ApiError) return error
    throw error
  }
}

/** As JSON-RPC has it. A notification, which has no id, is not answered. */
function refused(message: unknown, { code, message: words, retryAfterMs }: ApiError): Answer {
  const { id } = (message ?? {}) as { id?: unknown }
  if (id === undefined) return { status: 202, text: '' }
  const error = { code: SERVER_ERROR, message: words, data: { code, retryAfterMs } }
  return { status: 200, text: JSON.stringify({ jsonrpc: '2.0', id, error }) }
}

/** The library is told who calls by the call itself; it asks for no credential. */
const NOBODY = { token: '', clientId: '', scopes: [] }

async function textOf(response: Response): Promise<Answer> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) {
    await response.body?.cancel()
    throw new ApiError('VALIDATION_ERROR', 'The server sends nothing by itself, so there is nothing to subscribe to.')
  }
  return { status: response.status, text: await response.text() }
}
