// OpenAPI 3.1 generated from the schemas that validate requests, so the document cannot drift from the code.

import { z } from 'zod'
import { ERRORS, type ErrorCode } from './errors.ts'
import { HEADER } from './headers.ts'
import { errorBody, flatErrorBody } from './wire.ts'

/** What a document needs to know about a route; the chassis converts its routes to this form. */
export interface RouteDescription {
  method: string
  /** OpenAPI's own template style: `/v1/kv/entries/{key}`. */
  path: string
  summary: string
  tag: string
  access: {
    class: string
    operation?: string | undefined
    secondOperation?: string | undefined
    domains?: readonly string[] | undefined
    effect?: string | undefined
    schemes: string[][]
  }
  params?: z.ZodType
  query?: z.ZodType
  body?: { schema: z.ZodType; required: boolean }
  answers: Record<number, Answer>
  /** Headers of its own, by name, each with one sentence. */
  requestHeaders?: Record<string, string>
  answerHeaders?: Record<string, string>
  errors: ErrorCode[]
  /** Its errors have the specification's flat shape. */
  flatErrors?: boolean
}

/** `contentType`: one of several, or none at all, as of a redirect. */
export type Answer = z.ZodType | { contentType: string | readonly string[]; description: string }

export interface DocumentOptions {
  title: string
  version: string
  description: string
  letterCase: 'camel' | 'snake'
  securitySchemes: Record<string, object>
  routes: RouteDescription[]
}

type Json = Record<string, unknown>

export function openapiDocument(options: DocumentOptions): Json {
  const schemas: Record<string, Json> = { Error: jsonSchema(errorBody(options.letterCase), 'output', {}) }
  const paths: Record<string, Json> = {}
  for (const route of options.routes) {
    paths[route.path] ??= {}
    const item = paths[route.path] as Json
    item[route.method.toLowerCase()] = operation(route, schemas)
  }
  return {
    openapi: '3.1.0',
    info: { title: options.title, version: options.version, description: options.description },
    servers: [{ url: '/' }],
    tags: [...new Set(options.routes.map((route) => route.tag))].sort().map((name) => ({ name })),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: options.securitySchemes,
    },
  }
}

function operation(route: RouteDescription, schemas: Record<string, Json>): Json {
  const parameters = [
    ...parametersOf('path', route.params, schemas),
    ...parametersOf('query', route.query, schemas),
    ...headersOf(route),
  ]
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [route.tag],
    ...accessOf(route.access),
    security: route.access.schemes.map((schemes) => Object.fromEntries(schemes.map((scheme) => [scheme, []]))),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: route.body.required,
            content: { 'application/json': { schema: jsonSchema(route.body.schema, 'input', schemas) } },
          },
        }
      : {}),
    responses: responses(route, schemas),
  }
}

function accessOf({ class: name, operation, secondOperation, domains = [], effect }: RouteDescription['access']): Json {
  const operations = [operation, secondOperation].filter((one) => one !== undefined)
  const needed = operations.length > 0 ? ` with ${operations.map((one) => `\`${one}\``).join(' and ')}` : ''
  const where = domains.length > 0 ? `, on ${domains.map((one) => `\`${one}\``).join(', ')} of one database` : ''
  return {
    description: `Access: ${name}${needed}${where}.`,
    'x-loci-access': name,
    ...(operation ? { 'x-loci-operation': operation } : {}),
    ...(secondOperation ? { 'x-loci-second-operation': secondOperation } : {}),
    ...(domains.length > 0 ? { 'x-loci-domains': domains } : {}),
    ...(effect ? { 'x-loci-effect': effect } : {}),
  }
}

/**
 * `GET /v1/kv/entries/{key}` is `getV1KvEntriesByKey`: stable, unique, and readable in a generated client. A path that
 * ends with a slash is another one than without it.
 */
function operationId({ method, path }: RouteDescription): string {
  const words = path
    .replace(/(?<=.)\/$/, '/index')
    .split(/[/:.]/)
    .filter(Boolean)
    .map((part) => (part.startsWith('{') ? `by-${part.slice(1, -1)}` : part))
    .flatMap((part) => part.split(/[-_]/))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  return method.toLowerCase() + words.join('')
}

function parametersOf(place: 'path' | 'query', schema: z.ZodType | undefined, schemas: Record<string, Json>): Json[] {
  if (!schema) return []
  const object = jsonSchema(schema, 'input', schemas)
  const required = new Set((object.required as string[] | undefined) ?? [])
  return Object.entries((object.properties as Record<string, Json> | undefined) ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.has(name),
    schema: property,
  }))
}

/** The headers that a route reads follow from the error codes that it can answer, so the two cannot disagree. */
function headersOf({ access, errors, requestHeaders = {} }: RouteDescription): Json[] {
  const header = (name: string, description: string, maxLength: number) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string', minLength: 1, maxLength },
  })
  return [
    ...(access.domains?.length || errors.includes('DATABASE_MISMATCH')
      ? [
          header(
            HEADER.database,
            "1 to 64 of a-z, 0-9, _ and -. Default: the credential's only database, else `default`.",
            64,
          ),
        ]
      : []),
    ...(errors.some((code) => code.startsWith('IDEMPOTENCY_'))
      ? [
          header(
            'Idempotency-Key',
            'A repeat with the same key gets the answer of the first request, for 24 hours.',
            255,
          ),
        ]
      : []),
    ...(errors.includes('VERSION_CONFLICT')
      ? [header('If-Match', 'The quoted version that must be the current one, as in `"3"`; `*`: it must exist.', 100)]
      : []),
    ...Object.entries(requestHeaders).map(([name, description]) => header(name, description, 100)),
  ]
}

function responses(route: RouteDescription, schemas: Record<string, Json>): Json {
  const all: Record<string, Json> = {}
  for (const [status, answer] of Object.entries(route.answers)) {
    all[status] =
      answer instanceof z.ZodType
        ? {
            description: 'Success.',
            ...(route.answerHeaders ? { headers: answerHeadersOf(route.answerHeaders) } : {}),
            content: { 'application/json': { schema: jsonSchema(answer, 'output', schemas) } },
          }
        : {
            description: answer.description,
            ...(route.answerHeaders ? { headers: answerHeadersOf(route.answerHeaders) } : {}),
            ...contentOf(answer.contentType),
          }
  }
  const byStatus = Map.groupBy(route.errors, (code) => ERRORS[code].status)
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const error = {
      schema: route.flatErrors ? jsonSchema(flatErrorBody, 'output', schemas) : { $ref: '#/components/schemas/Error' },
    }
    const known = all[status]
    all[status] = {
      description: [known?.description, ...codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`)]
        .filter(Boolean)
        .join(' '),
      // Only readiness answers the same status with a body that is not an error.
      content: known
        ? { 'application/json': { schema: { anyOf: [contentSchema(known), error.schema] } } }
        : { 'application/json': error },
    }
  }
  return all
}

function contentOf(contentType: string | readonly string[]): Json {
  const types = [contentType].flat()
  return types.length === 0 ? {} : { content: Object.fromEntries(types.map((type) => [type, {}])) }
}

function answerHeadersOf(headers: Record<string, string>): Json {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
}

function contentSchema(response: Json): unknown {
  return (response.content as Record<string, { schema?: unknown }>)['application/json']?.schema ?? {}
}

/** A schema with an id becomes a component: zod puts it under $defs, and we move $defs to components. */
function jsonSchema(schema: z.ZodType, io: 'input' | 'output', schemas: Record<string, Json>): Json {
  const {
    $schema: _,
    $defs,
    ...body
  } = z.toJSONSchema(schema, {
    target: 'draft-2020-12',
    io,
    unrepresentable: 'any',
    override({ jsonSchema: made }) {
      // Within a version fields are only added, so a client must accept unknown ones.
      if (io === 'output' && made.additionalProperties === false) delete made.additionalProperties
      const integer = made.queryInteger as Json | undefined
      if (!integer) return
      for (const key of Object.keys(made)) delete (made as Json)[key]
      Object.assign(made, integer)
    },
  }) as Json
  for (const [name, inner] of Object.entries(($defs as Record<string, Json> | undefined) ?? {}))
    schemas[name] = moved(inner)
  return moved(body)
}

function moved(schema: Json): Json {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'))
}
