// Typed calls of both programs: one request, its retries, its error. It uses fetch and nothing else, so it runs in
// browsers too.
//
// A request is repeated only where a repeat cannot do harm: GET, PUT, DELETE, and a POST whose route honours an
// Idempotency-Key, which the client makes and keeps over its attempts. Everything else is sent once.

import { HEADER } from '@loci/contract/headers.ts'
import { DAEMON_KEYED, type DaemonOperations } from './daemon.ts'
import { LociError, refusalOf } from './error.ts'
import { answerTo, ask, jsonOf, type Sent } from './exchange.ts'
import { MANAGEMENT_KEYED, type ManagementOperations } from './management.ts'
import { inSpan, type Telemetry } from './spans.ts'

export type HeaderFields = Readonly<Record<string, string | undefined>>

export interface Patience {
  /** How long one attempt may take, its body included. */
  attemptMs?: number | undefined
  /** How long a call may take with all its attempts and the waits between them. */
  deadlineMs?: number | undefined
  attemptsMax?: number | undefined
}

/** Thirty seconds, because a fail-over of the store takes twenty: a call rides it out. */
const PATIENCE = { attemptMs: 10_000, deadlineMs: 30_000, attemptsMax: 12 }
const BACKOFF_MS_MIN = 200
const BACKOFF_MS_MAX = 5_000

export interface ConnectOptions extends Patience {
  /** Without a credential: those stand in headers alone. */
  url: string
  /** Asked before each attempt, so that a renewed credential is used at once. */
  headers?: (() => HeaderFields | Promise<HeaderFields>) | undefined
  /** After a 401, at most once in a call: whether there is another credential to ask again with. */
  renew?: ((refusal: LociError) => boolean | Promise<boolean>) | undefined
  /** The server said that the service is elsewhere: the base to use from now on. */
  moved?: ((url: string) => void) | undefined
  fetch?: typeof globalThis.fetch | undefined
  /** Calls as spans of OpenTelemetry; false: none, whatever the program registered. */
  telemetry?: Telemetry | false | undefined
}

export interface CallOptions extends Patience {
  headers?: HeaderFields | undefined
  /** The server recognises a repeat of this body by itself, so it may be sent again and needs no Idempotency-Key. */
  repeatable?: boolean | undefined
  signal?: AbortSignal | undefined
}

interface Operation {
  given: object
  answers: object
}

type Given<Op extends Operation> = Omit<Op['given'], 'headers'> &
  Omit<CallOptions, 'headers'> & {
    headers?: (Op['given'] extends { headers?: infer Named } ? Named & HeaderFields : HeaderFields) | undefined
  }

export type Answer<Op extends Operation> = {
  [Status in keyof Op['answers']]: {
    status: Status
    body: Op['answers'][Status]
    headers: Headers
    requestId: string | undefined
  }
}[keyof Op['answers']]

export interface Client<Operations extends Record<keyof Operations, Operation>> {
  /** `call('GET /v1/kv/entries/{key}', { path: { key: 'a/b' } })`; every refusal is thrown as a LociError. */
  call<Name extends keyof Operations & string>(
    name: Name,
    // Without anything that must be given, the second argument may be left out.
    ...given: Record<never, never> extends Operations[Name]['given']
      ? [given?: Given<Operations[Name]>]
      : [given: Given<Operations[Name]>]
  ): Promise<Answer<Operations[Name]>>
  /** A GET whose answer is read as it comes. One attempt: who follows a stream asks again by itself. */
  open(path: string, given?: CallOptions): Promise<Response>
}

export function connectManagement({
  apiKey,
  ...options
}: ConnectOptions & { apiKey?: string | undefined }): Client<ManagementOperations> {
  return connect(options, { [HEADER.apiKey]: apiKey }, MANAGEMENT_KEYED)
}

export function connectDaemon({
  capability,
  database,
  ...options
}: ConnectOptions & { capability?: string | undefined; database?: string | undefined }): Client<DaemonOperations> {
  return connect(options, { [HEADER.capability]: capability, [HEADER.database]: database }, DAEMON_KEYED)
}

interface Loose extends CallOptions {
  path?: Record<string, string | number>
  query?: Record<string, unknown>
  body?: unknown
  idempotencyKey?: string
}

interface Request extends Sent {
  headers: HeaderFields
  repeatable: boolean
  /** Its repeat, after an answer that was lost, would meet the version it made itself and look like a conflict. */
  conditional: boolean
}

/** For any document of ours; `keyed` are the operations that honour an Idempotency-Key. */
export function connect<Operations extends Record<keyof Operations, Operation>>(
  options: ConnectOptions,
  credential: HeaderFields,
  keyed: ReadonlySet<string>,
): Client<Operations> {
  const home = baseOf(options.url)
  const send = options.fetch ?? ((...given: Parameters<typeof fetch>) => fetch(...given))
  headersOf(credential)

  const headersFor = async (fields: HeaderFields) =>
    headersOf({ ...credential, ...(await options.headers?.()), ...fields })

  const call = (name: string, given: Loose = {}) =>
    inSpan(options.telemetry, { name, base: home, given }, async (span) => {
      const { attemptMs, deadlineMs, attemptsMax } = { ...PATIENCE, ...defined(options), ...defined(given) }
      const request = prepare(name, given, keyed.has(name), attemptsMax)
      const endsAt = performance.now() + deadlineMs
      let base = home
      let followed = false
      let renewed = false
      for (let attempt = 1; ; attempt += 1) {
        given.signal?.throwIfAborted()
        const headers = await headersFor({ ...span.headers, ...request.headers })
        span.within(headers.get(HEADER.database))
        const ms = Math.max(1, Math.min(attemptMs, endsAt - performance.now()))
        const outcome = await ask(send, base, request, headers, ms, given.signal)
        if (!(outcome instanceof LociError)) return outcome
        outcome.attempts = attempt
        // Followed once: only the server that was named in the options is believed.
        const endpoint = followed ? undefined : movedTo(outcome, home)
        if (endpoint !== undefined) {
          base = endpoint
          followed = true
          options.moved?.(endpoint)
          continue
        }
        // A 401 promises that nothing was done.
        if (outcome.status === 401 && !renewed && (await options.renew?.(outcome))) {
          renewed = true
          continue
        }
        const waitMs = backoffMs(attempt) + (outcome.retryAfterMs ?? 0)
        const hopeless = attempt >= attemptsMax || performance.now() + waitMs >= endsAt
        if (hopeless || !mayRepeat(request, outcome)) throw outcome
        await sleep(waitMs, given.signal)
      }
    })

  const open = async (path: string, given: CallOptions = {}): Promise<Response> => {
    const { attemptMs } = { ...PATIENCE, ...defined(options), ...defined(given) }
    for (let attempt = 1; ; attempt += 1) {
      const headers = await headersFor({ accept: 'text/event-stream', ...given.headers })
      const request = { method: 'GET', target: path, body: undefined }
      const response = await answerTo(send, home, request, headers, attemptMs, given.signal)
      if (response instanceof LociError) throw response
      if (response.ok) return response
      const refusal = refusalOf(response, jsonOf(await response.text()))
      const endpoint = movedTo(refusal, home)
      if (endpoint !== undefined) options.moved?.(endpoint)
      if (refusal.status !== 401 || attempt > 1 || !(await options.renew?.(refusal))) throw refusal
    }
  }
  return { call, open } as unknown as Client<Operations>
}

/** The options that were given, so that an `undefined` does not hide a default. */
function defined({ attemptMs, deadlineMs, attemptsMax }: Patience): Partial<typeof PATIENCE> {
  return {
    ...(attemptMs === undefined ? {} : { attemptMs }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(attemptsMax === undefined ? {} : { attemptsMax }),
  }
}

function prepare(name: string, given: Loose, isKeyed: boolean, attemptsMax: number): Request {
  const [method = '', template = ''] = name.split(' ')
  const path = template.replaceAll(/\{([^}]+)\}/g, (_, parameter: string) =>
    segmentOf(parameter, given.path?.[parameter]),
  )
  const query = new URLSearchParams()
  for (const [field, value] of Object.entries(given.query ?? {})) {
    if (value !== undefined) query.append(field, String(value))
  }
  const headers: Record<string, string | undefined> = { accept: 'application/json, text/*' }
  if (given.body !== undefined) headers['content-type'] = 'application/json'
  // The server keeps what it answered under a key, for a day and within the plan: none for what is not repeated.
  const keyed = isKeyed && !given.repeatable && (attemptsMax > 1 || given.idempotencyKey !== undefined)
  if (keyed) {
    headers[HEADER.idempotencyKey] = given.idempotencyKey ?? newKey()
    // The specification's services route answers the same key with another body as if it were the same; strict makes
    // that an error.
    headers['idempotency-strict'] = 'true'
  }
  for (const [field, value] of Object.entries(given.headers ?? {})) headers[field.toLowerCase()] = value
  return {
    method,
    target: query.size > 0 ? `${path}?${query}` : path,
    headers,
    body: given.body === undefined ? undefined : JSON.stringify(given.body),
    repeatable: keyed || given.repeatable === true || method === 'GET' || method === 'PUT' || method === 'DELETE',
    conditional: headers['if-match'] !== undefined || headers['if-none-match'] !== undefined,
  }
}

/** `.` and `..` cannot be sent, encoded or not: a URL drops them, and the request would go to another route. */
function segmentOf(parameter: string, value: string | number | undefined): string {
  if (value === undefined) throw invalid(`path.${parameter} is missing: it stands in the path as {${parameter}}.`)
  const text = String(value)
  if (text === '' || text === '.' || text === '..' || !text.isWellFormed()) {
    throw invalid(`'${text}' cannot stand in a path as {${parameter}}; choose another one.`)
  }
  return encodeURIComponent(text)
}

function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function baseOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (!parsed || !/^https?:$/.test(parsed.protocol)) {
    throw invalid('the url must begin with http:// or https://')
  }
  // Not quoted: what is refused here may be a password.
  if (parsed.username || parsed.password || parsed.search || parsed.hash) {
    throw invalid('the url must have no user, query or fragment; give the credential as an option of its own')
  }
  return parsed.origin + parsed.pathname.replace(/\/+$/, '')
}

/** Checked before fetch sees them: its own error would quote the credential and look like a network failure. */
function headersOf(fields: HeaderFields): Headers {
  const headers = new Headers()
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined) continue
    try {
      headers.set(name, value)
    } catch {
      throw invalid(`the value of the header ${name} has characters that no header can carry; was it cut or wrapped?`)
    }
  }
  return headers
}

function invalid(message: string): LociError {
  return new LociError('INVALID_REQUEST', message, { status: 0 })
}

/** A cell that no longer has the instance says where it is. */
function movedTo({ code, status, details }: LociError, from: string): string | undefined {
  if (status !== 421 || code !== 'SERVICE_MOVED') return undefined
  const { endpoint } = (details ?? {}) as { endpoint?: unknown }
  try {
    const base = baseOf(String(endpoint))
    // Who was asked over https must not make us say the credential in the clear.
    return from.startsWith('https:') && !base.startsWith('https:') ? undefined : base
  } catch {
    return undefined
  }
}

function mayRepeat({ repeatable, conditional }: Request, error: LociError): boolean {
  const { code, status, retryable, retryAfterMs } = error
  if (!repeatable) return false
  if (code === 'IDEMPOTENCY_IN_PROGRESS' || status === 408) return true
  if (code === 'NETWORK_FAILURE' || code === 'TIMEOUT') return !conditional
  // OUTCOME_UNKNOWN, and INTERNAL_ERROR where the specification has it for the same: done or not, the key makes it
  // once.
  if (code === 'UNEXPECTED_ANSWER' || status === 500) return retryable && !conditional
  // Without a time to come back, a 503 is a sub-service that an operator switched off.
  return (status === 429 || status === 503) && retryAfterMs !== undefined
}

/** Between half and all of a span that doubles: clients that failed together do not come back together. */
function backoffMs(attempt: number): number {
  const span = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** (attempt - 1))
  return span * (0.5 + Math.random() / 2)
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, ms)
    signal?.addEventListener('abort', stop, { once: true })
  })
}
