// How the fake refuses: in the shape of the server.

export class Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.name = 'Refusal'
    this.status = status
    this.code = code
  }
}

export function missing(what: string): Refusal {
  return new Refusal(404, 'NOT_FOUND', `There is no such ${what}.`)
}

export function answer(body: unknown, status = 200, headers: { [name: string]: string } = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json', 'x-request-id': 'req_fake', ...headers },
  })
}

export function refusal(error: unknown): Response {
  if (!(error instanceof Refusal)) throw error
  const { status, code, message } = error
  return answer({ error: { code, message, status, requestId: 'req_fake', retryable: false } }, status)
}

/** A body has the fields that its route reads and no others, so that a misspelt one shows in a test already. */
export function requireKnown(body: object, known: readonly string[]): void {
  const unknown = Object.keys(body).find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Refusal(400, 'VALIDATION_ERROR', `'${unknown}' is no field of this request.`)
}

export function requireKey(key: string): void {
  const bytes = new TextEncoder().encode(key).length
  if (bytes < 1 || bytes > 256 || /\p{Cc}/u.test(key))
    throw new Refusal(400, 'VALIDATION_ERROR', 'key: must have 1 to 256 bytes of UTF-8 without control characters')
}
