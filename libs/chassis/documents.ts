// The routes of a program, described for its OpenAPI document.

import type { ErrorCode } from '@loci/contract/errors.ts'
import { type DocumentOptions, type Example, openapiDocument, type RouteDescription } from '@loci/contract/openapi.ts'
import type { Route } from './route.ts'

/** `examples`: by method and path, as in `PUT /v1/kv/entries/{key}`. */
export function documentOf(
  routes: Route[],
  { examples = {}, ...options }: Omit<DocumentOptions, 'routes'> & { examples?: Record<string, Example> },
): Record<string, unknown> {
  const described = routes.map((one) => {
    const description = describe(one)
    const example = examples[`${description.method} ${description.path}`]
    return example ? { ...description, example } : description
  })
  return openapiDocument({ ...options, routes: described })
}

/** What any request to any route may be told, whatever it asks for. */
const EVERYWHERE: ErrorCode[] = [
  'VALIDATION_ERROR',
  'HTTPS_REQUIRED',
  'METHOD_NOT_ALLOWED',
  'REQUEST_TIMEOUT',
  'HEADERS_TOO_LARGE',
]
const LIMITED: ErrorCode[] = ['STARTING', 'DRAINING', 'OVERLOADED']

function describe({ spec }: Route): RouteDescription {
  const errors = new Set<ErrorCode>([...EVERYWHERE, ...spec.access.errors, ...(spec.errors ?? [])])
  if (spec.deadline !== 'probe' && !spec.failsWith500) for (const code of LIMITED) errors.add(code)
  if (spec.failsWith500) errors.delete('REQUEST_TIMEOUT')
  if (spec.failsWith500 || spec.unknownIsInternal) errors.add('INTERNAL_ERROR')
  else if (spec.method !== 'GET') errors.add('OUTCOME_UNKNOWN')
  if (spec.body) for (const code of ['PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) errors.add(code)
  if (spec.subservice) errors.add('SUBSERVICE_DISABLED')
  return {
    method: spec.method,
    // OpenAPI has no word for a tail.
    path: spec.path.replace('...}', '}'),
    summary: spec.summary,
    ...(spec.details === undefined ? {} : { details: spec.details }),
    tag: spec.tag,
    access: {
      class: spec.access.class,
      schemes: spec.access.schemes,
      operation: spec.access.operation,
      secondOperation: spec.access.secondOperation,
      domains: spec.access.domains,
      effect: spec.access.effect,
    },
    ...(spec.params ? { params: spec.params } : {}),
    ...(spec.query ? { query: spec.query } : {}),
    ...(spec.body
      ? { body: { schema: spec.documentedBody ?? spec.body, required: !spec.bodyOptional && !spec.bodyDefault } }
      : {}),
    answers: spec.answers,
    ...(spec.conditions ? { conditions: spec.conditions } : {}),
    errors: [...errors],
    ...(spec.requestHeaders ? { requestHeaders: spec.requestHeaders } : {}),
    ...(spec.answerHeaders ? { answerHeaders: spec.answerHeaders } : {}),
    ...(spec.flatErrors ? { flatErrors: true } : {}),
  }
}
