// What a request brings, by the schemas of its route. Parsed once, here; inside, the types are trusted.

import { z } from 'zod'
import { ApiError } from './api-error.ts'
import { parseJson } from './json.ts'
import { parseQuery } from './query-string.ts'
import type { Route } from './route.ts'

type Spec = Route['spec']
type Headers = Record<string, string | string[] | undefined>

/** The body as JSON; undefined where the route takes none or it was left out. */
export function readBody(spec: Spec, headers: Headers, bytes: Buffer | undefined): unknown {
  if (!spec.body) return undefined
  if (!bytes || bytes.length === 0) {
    if (spec.bodyOptional) return undefined
    throw new ApiError('VALIDATION_ERROR', 'The request needs a JSON body.')
  }
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

export function inputOf(
  spec: Spec,
  params: unknown,
  url: string,
  body: unknown,
): { params: unknown; query: unknown; body: unknown } {
  return {
    params: spec.params && parse(spec.params, params, 'path'),
    query: spec.query && parse(spec.query, parseQuery(queryOf(url)), 'query'),
    body: spec.body && parse(spec.body, body, 'body'),
  }
}

function queryOf(url: string): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at + 1)
}

function parse(schema: z.ZodType, value: unknown, place: string): unknown {
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

/** An answer that does not fit its own document is a bug; in tests it fails loudly. */
export function requireFits(spec: Spec, status: number, body: unknown): void {
  const schema = spec.answers[status]
  if (schema === undefined)
    throw new Error(`${spec.method} ${spec.path} answered ${status}, which it does not document`)
  if (!(schema instanceof z.ZodType)) return
  const result = schema.safeParse(JSON.parse(JSON.stringify(body)))
  if (!result.success)
    throw new Error(`${spec.method} ${spec.path} answered what its schema refuses: ${z.prettifyError(result.error)}`)
}
