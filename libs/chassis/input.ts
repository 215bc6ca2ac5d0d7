// What a request brings, by the schemas of its route. Parsed once, here; inside, the types are trusted.

import { Readable } from 'node:stream'
import { z } from 'zod'
import { ApiError } from './api-error.ts'
import type { Exchange } from './exchange.ts'
import { requireKnownNames } from './field-names.ts'
import { parseJson } from './json.ts'
import type { Log } from './log.ts'
import './problems.ts'
import { parseQuery } from './query-string.ts'
import { type Call, CONDITIONS, type Route } from './route.ts'

type Spec = Route['spec']
type Headers = Record<string, string | string[] | undefined>

/** The body as JSON; undefined where the route takes none, or where it was left out and the route has no default. */
export function readBody(
  spec: Spec,
  headers: Headers,
  { bytes, stream }: { bytes: Buffer | undefined; stream: AsyncIterable<Buffer> | undefined },
): unknown {
  if (!spec.body) {
    if (bytes && bytes.length > 0) requireNothing(spec, bytes)
    return undefined
  }
  if (spec.bodyStream) return stream
  if (spec.bodyRaw) return bytes ?? Buffer.alloc(0)
  if ((!bytes || bytes.length === 0) && (spec.bodyOptional || spec.bodyDefault)) return spec.bodyDefault
  return readJson(headers, bytes)
}

/**
 * A body that nobody would read says something all the same: a `dryRun` in it that is dropped would be done in earnest.
 * Whatever its type is said to be, because it would be dropped whatever that is.
 */
function requireNothing({ method, path, query }: Spec, bytes: Buffer): void {
  const none = `${method} ${path} takes no body`
  let sent: unknown
  try {
    sent = parseJson(bytes)
  } catch {
    throw refusal(`${none}: leave it out, nothing was done.`, 'body', 'is not taken here')
  }
  const asked = query instanceof z.ZodObject ? Object.keys(query.shape) : []
  const misplaced = asked.find((name) => typeof sent === 'object' && sent !== null && Object.hasOwn(sent, name))
  if (misplaced !== undefined)
    throw refusal(
      `${none}: send \`${misplaced}\` in the query, nothing was done.`,
      `body.${misplaced}`,
      'belongs into the query',
    )
  requireKnownNames(NOTHING, sent, 'body', true)
  if (!NOTHING.safeParse(sent).success)
    throw refusal(`${none}: leave it out, nothing was done.`, 'body', 'is not taken here')
}

function refusal(message: string, field: string, problem: string): ApiError {
  return new ApiError('VALIDATION_ERROR', message, { details: [{ field, problem }] })
}

/** The body as JSON, or why it is none. Exported for handlers of `bodyRaw` that must do something else first. */
export function readJson(headers: Headers, bytes: Buffer | undefined): unknown {
  if (!bytes || bytes.length === 0) throw new ApiError('VALIDATION_ERROR', 'The request needs a JSON body.')
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body without content-encoding.')
  }
  if (!isJson(String(headers['content-type'] ?? ''))) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send JSON in UTF-8 with content-type: application/json.')
  }
  return parseJson(bytes)
}

function isJson(contentType: string): boolean {
  const [type, ...parameters] = contentType.toLowerCase().split(';')
  if (!/^application\/([\w.-]+\+)?json$/.test((type as string).trim())) return false
  return parameters.every(
    (parameter) => !parameter.trim().startsWith('charset=') || /^charset="?utf-?8"?$/.test(parameter.trim()),
  )
}

interface Input {
  params: unknown
  query: unknown
  body: unknown
}

/** Refuses a condition that the route would not look at. */
export function requireConditions({ access, conditions = [], method, path }: Spec, headers: Headers): void {
  if (!access.refusesConditions) return
  for (const name of CONDITIONS)
    if (headers[name] !== undefined && !conditions.includes(name))
      throw refusal(
        `${method} ${path} does not honour the precondition ${name}: leave it out, nothing was done.`,
        `header.${name}`,
        'is not honoured here',
      )
}

export function inputOf(spec: Spec, params: unknown, url: string, body: unknown): Input {
  const parse = spec.ignoresUnknownNames ? parseBySchema : parseInput
  const isStrict = spec.refusesUnknownNames ?? false
  const query = spec.query ?? (isStrict ? NOTHING : undefined)
  const asked = query && parseQuery(queryOf(url))
  if (isStrict) requireNoneOfBody(spec, Object.keys(asked ?? {}))
  return {
    params: spec.params && parseBySchema(spec.params, params, 'path'),
    query: query && parse(query, asked, 'query', isStrict),
    body: spec.body && (spec.bodyRaw || spec.bodyStream ? body : parse(spec.body, body, 'body', isStrict)),
  }
}

/** What the body has by that name is no unknown one: it stands in the wrong place. */
function requireNoneOfBody({ method, path, query, body }: Spec, asked: string[]): void {
  if (!(body instanceof z.ZodObject)) return
  const own = query instanceof z.ZodObject ? query.shape : {}
  const misplaced = asked.find((name) => !Object.hasOwn(own, name) && Object.hasOwn(body.shape, name))
  if (misplaced !== undefined)
    throw refusal(
      `${method} ${path}: send \`${misplaced}\` in the body, nothing was done.`,
      `query.${misplaced}`,
      'belongs into the body',
    )
}

const NOTHING = z.object({})

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

/** Exported for the handlers that must do something else first. */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
  isStrict = false,
): z.infer<Schema> {
  requireKnownNames(schema, value, place, isStrict)
  return parseBySchema(schema, value, place)
}

/** As parseInput, where unknown names are ignored. */
export function parseBySchema<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
): z.infer<Schema> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const details = result.error.issues
    .slice(0, 20)
    .map((issue) => ({ field: [place, ...issue.path].join('.'), problem: issue.message }))
  const first = details[0]
  throw new ApiError(
    'VALIDATION_ERROR',
    `The request does not have the documented form: ${first?.field}: ${first?.problem}.`,
    { details },
  )
}

/** What a handler is given. A class for the sake of `signal`: a getter of a literal is made anew with every request. */
export class HandlerCall implements Call<unknown, unknown, unknown, unknown> {
  readonly caller: unknown
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly headers: Headers
  readonly requestId: string
  readonly log: Log
  readonly #exchange: Exchange

  constructor(exchange: Exchange, input: Input, headers: Headers, log: Log) {
    this.caller = exchange.caller
    this.params = input.params
    this.query = input.query
    this.body = input.body
    this.headers = headers
    this.requestId = exchange.requestId
    this.log = log
    this.#exchange = exchange
  }

  get route(): string {
    const { method, path } = (this.#exchange.matched as Route).spec
    const params = this.params as Record<string, unknown>
    return `${method} ${path.replace(/\{([^}]+)\}/g, (_, name: string) => encodeURIComponent(String(params[name])))}`
  }

  get bodyBytes(): number {
    return this.#exchange.bodyBytes
  }

  get signal(): AbortSignal {
    return this.#exchange.signal()
  }

  get answer(): Exchange {
    return this.#exchange
  }

  get goOn(): () => void {
    return () => this.#exchange.bill.goOn()
  }

  get noteTaken(): (units: number) => void {
    return (units) => this.#exchange.bill.noteTaken(units)
  }

  /** A getter, so that a handler may take it out of the call like everything else. */
  get yieldSlot(): () => void {
    return () => this.#exchange.yieldSlot()
  }
}

/** An answer that does not fit its own document is a bug; in tests it fails loudly. */
export function requireFits(spec: Spec, status: number, body: unknown): void {
  const schema = spec.answers[status]
  if (schema === undefined)
    throw new Error(`${spec.method} ${spec.path} answered ${status}, which it does not document`)
  // A stream has no end to hold it against.
  if (!(schema instanceof z.ZodType) || body instanceof Readable) return
  const result = schema.safeParse(JSON.parse(typeof body === 'string' ? body : JSON.stringify(body)))
  if (!result.success)
    throw new Error(`${spec.method} ${spec.path} answered what its schema refuses: ${z.prettifyError(result.error)}`)
}
