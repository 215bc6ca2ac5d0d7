// A route is a value: what it needs and what it does. Access comes before the handler and the handler receives what
// access returned, so a route without an access decision cannot be written, and a handler has no other way to learn
// who calls.

import type { ErrorCode } from '@loci/contract/errors.ts'
import type { Answer as OpenapiAnswer } from '@loci/contract/openapi.ts'
import type { z } from 'zod'
import type { Log } from './log.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** What access decides on. Nothing of the body: a refusal comes before it is read. */
export interface Arrival {
  readonly method: string
  /** Path and query as they were sent: what a signature over the request covers. */
  readonly target: string
  readonly headers: Record<string, string | string[] | undefined>
  /** The socket's peer, a fact. */
  readonly peer: string
  readonly requestId: string
  /** What whoever decides may add to the answer, whatever the answer will be. */
  readonly answer: AnswerHeaders
}

/** Headers that the answer gets whether it succeeds or is refused: rate limits, for one. Names in lower case. */
export interface AnswerHeaders {
  header(name: string, value: string): void
  /** One more value of a header that may be repeated, such as Set-Cookie; it stands beside those of the reply. */
  append(name: string, value: string): void
}

/** By name in lower case; a list is the header repeated. */
export type HeaderValues = Readonly<Record<string, string | string[]>>

/** By which a request says on what its work depends (RFC 9110, 13.1). */
export const CONDITIONS = ['if-match', 'if-none-match', 'if-modified-since', 'if-unmodified-since', 'if-range'] as const
export type Condition = (typeof CONDITIONS)[number]

/** One access class, as the program's access/ folder defines it. */
export interface Access<Caller> {
  readonly class: string
  /** The operation of the credential that the route needs, where the class has operations. */
  readonly operation?: string
  /** A second one that it needs as well. */
  readonly secondOperation?: string
  /** Of the data plane: the domains of the database that it works on. */
  readonly domains?: readonly string[]
  /** Of the data plane: read, write, delete or operate. */
  readonly effect?: string
  /** Names of OpenAPI security schemes: any of the lists, all of a list. Empty = nobody is asked. */
  readonly schemes: string[][]
  /** The WWW-Authenticate of its 401s; Bearer where there is none. */
  readonly challenge?: string
  /** Slots of their own, whoever else is at work: `admin`, `cell`, `webhook`. */
  readonly lane?: string
  /** Whose work a request is, the instance or the organization: nobody holds more than a quarter of the slots. */
  shareOf?(caller: Caller): string
  /**
   * Where callers have a rate that counts work (bill.ts): what a request adds to what access took. Below 0: it was less
   * than was taken ahead. `isDone` false: throws RATE_LIMITED when the caller is in debt; `own` is what this request
   * was charged before, and never refuses it.
   */
  charge?(caller: Caller, units: number, isDone: boolean, own?: number): void
  /** Who is charged, for who remembers what its requests cost. */
  accountOf?(caller: Caller): string
  /** What it can save: a large body is taken ahead up to it, and what its last requests cost up to half of it. */
  burstOf?(caller: Caller): number
  /** What is left of its rate, for the headers of the answer. */
  rateHeadersOf?(caller: Caller): HeaderValues
  /** What its requests of a route were charged, for whoever tells it. */
  noteCost?(caller: Caller, route: string, units: number): void
  /** How a request was answered. `ms` is undefined where it waits by its nature, or nobody waited for its end. */
  noteAnswer?(caller: Caller, status: number, ms: number | undefined): void
  /** What access takes when it lets a request in, where that is more than 1. */
  readonly cost?: number
  /**
   * Whom the slot counts for until access has decided: the caller that the credential stood for when it last came,
   * SUSPECTS where the address is over its failures, undefined where nothing is known. Where access asks the database,
   * a caller beyond its rate, or a stranger, could else hold all slots while it is refused.
   */
  shareBefore?(arrival: Arrival): string | undefined
  /**
   * Where nobody is asked who he is: what a request counts for in the rate of its address (address-rates.ts). Such
   * requests of one address also have few slots. Undefined or 0: nothing, as of the probes of a load balancer.
   */
  readonly units?: number
  /** A condition that the route does not honour is refused: whoever sent it would take it as kept. */
  readonly refusesConditions?: boolean
  /** What its refusals look like, for the documents. */
  readonly errors: ErrorCode[]
  authorize(arrival: Arrival): Caller | Promise<Caller>
}

/**
 * Every route has a deadline, by class. `probe` also means: answers in every state of the process and outside the
 * limiter, so that a loaded or draining process can still be asked how it is.
 */
export const DEADLINES_MS = {
  probe: 3_000,
  normal: 12_000,
  bulk: 60_000,
  longPoll: 35_000,
  stream: Number.POSITIVE_INFINITY,
} as const
/** Within which a body must have arrived whole, from the arrival of its headers; always before the deadline. */
export const BODIES_MS: Readonly<Record<DeadlineClass, number>> = {
  probe: 2_000,
  normal: 10_000,
  bulk: 55_000,
  longPoll: 10_000,
  stream: 10_000,
}
export type DeadlineClass = keyof typeof DEADLINES_MS

/** Of a body that is read while it arrives. */
export interface StreamLimits {
  bytesMax: number
  /** While the handler waits for the client, after a grace of two seconds. */
  bytesPerSecondMin: number
  /** From the arrival of the headers to the last byte. The handler has the deadline of its route's class on top. */
  withinMs: number
}

export interface Call<Caller, Params, Query, Body> {
  readonly caller: Caller
  /** `METHOD /path/template`, with the values of the path filled in: what an idempotency key is for. */
  readonly route: string
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** As they arrived, whatever the headers say; 0 where the handler reads the body while it arrives. */
  readonly bodyBytes: number
  readonly headers: Record<string, string | string[] | undefined>
  /** By what protocol inside of the request it came, where by one. */
  readonly via?: 'mcp'
  readonly requestId: string
  readonly log: Log
  /** Aborted when the client goes away or the deadline passes. */
  readonly signal: AbortSignal
  /** Headers of the answer, also of a refusal that is thrown later. */
  readonly answer: AnswerHeaders
  /**
   * Between the parts of long work: charges what was used since, and throws RATE_LIMITED when the caller is in debt
   * (this very request counts too). What was done stays done.
   */
  goOn(): void
  /** Access of a route that it calls inside of the process has taken so much of the caller's rate. */
  noteTaken(units: number): void
  /**
   * A handler that is about to wait, and not to work, makes room: a hundred waiting polls must not look like a hundred
   * at work.
   */
  yieldSlot(): void
}

/** Anything but 200 with JSON is answered with `reply`. */
export class Reply {
  readonly status: number
  readonly body: unknown
  readonly headers: HeaderValues

  constructor(status: number, body: unknown, headers: HeaderValues) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** A string body needs its own content-type header; everything else becomes JSON. */
export function reply(status: number, body: unknown, headers: HeaderValues = {}): Reply {
  return new Reply(status, body, headers)
}

export interface RouteSpec<Caller, Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> {
  method: Method
  /**
   * Parameters in braces, as in OpenAPI: `/v1/kv/entries/{key}`. The last may be a tail, which takes the rest of the
   * path with its slashes: `/console/{path...}`. Its segments are decoded, and none is empty, `.`, `..` or has a slash
   * in it; it may end in one slash.
   */
  path: string
  access: Access<Caller>
  /** One plain sentence that says what the caller does: `Write an entry.` */
  summary: string
  /** What else a reader of the documents must know, in whole sentences. */
  details?: string
  /** Feature that it belongs to: the tag in the documents. */
  tag: string
  deadline?: DeadlineClass
  /**
   * Let in also while the process starts or ends: its access asks no store. A handler that needs the store calls
   * `lifecycle.refusal()` itself, after what must be answered before.
   */
  inEveryState?: boolean
  /** The sub-service whose switch closes this route. */
  subservice?: string
  params?: Params
  query?: Query
  body?: Body
  /**
   * What the documents show as the body, where the handler itself parses it: after something that the specification
   * orders before.
   */
  documentedBody?: z.ZodType
  /** The handler gets the bytes as they came, whatever their type: a signature covers them. */
  bodyRaw?: boolean
  bodyBytesMax?: number
  /** The handler reads the body while it arrives (`body: streamedBody`). See body-stream.ts. */
  bodyStream?: StreamLimits
  /** Unknown names are ignored even if they look like known ones: programs call it that may be newer than this one. */
  ignoresUnknownNames?: boolean
  /**
   * Every unknown name of the query and of the body, at any depth, is refused: where dropping one would mix what the
   * caller wanted apart. The refusal says what to do instead (foreign-names.ts of the contract).
   */
  refusesUnknownNames?: boolean
  /** The conditions in headers that it honours, where the access class refuses those that nobody looks at. */
  conditions?: readonly Condition[]
  /** The body may be left out; the schema then sees undefined. */
  bodyOptional?: boolean
  /** The body may be left out; the schema then sees this. */
  bodyDefault?: object
  answers: Record<number, OpenapiAnswer>
  /** For the documents: headers of its own, by name, each with one sentence. */
  requestHeaders?: Record<string, string>
  answerHeaders?: Record<string, string>
  /** Codes of its own, beyond those that every route of its kind has. */
  errors?: ErrorCode[]
  /** What a caller is told when we fail unexpectedly. */
  failureMessage?: string
  /**
   * An unknown outcome is 500 INTERNAL_ERROR with `failureMessage`, as the specification orders for create and list
   * services.
   */
  unknownIsInternal?: boolean
  /** Errors of this path are the specification's flat `{error, details?}`: the billing webhook's alone. */
  flatErrors?: boolean
  /**
   * Every failure that the sender cannot mend (store away, overload, unknown commit, draining) is 500 with
   * Retry-After.
   */
  failsWith500?: boolean
}

export interface Route {
  readonly spec: RouteSpec<unknown, z.ZodType, z.ZodType, z.ZodType>
  readonly handle: (call: Call<unknown, unknown, unknown, unknown>) => unknown
}

export function route<
  Caller,
  Params extends z.ZodType = z.ZodUndefined,
  Query extends z.ZodType = z.ZodUndefined,
  Body extends z.ZodType = z.ZodUndefined,
>(
  spec: RouteSpec<Caller, Params, Query, Body>,
  handle: (call: Call<Caller, z.infer<Params>, z.infer<Query>, z.infer<Body>>) => unknown,
): Route {
  if (typeof spec.access?.authorize !== 'function')
    throw new Error(`${spec.method} ${spec.path} declares no access class`)
  return { spec, handle } as unknown as Route
}
