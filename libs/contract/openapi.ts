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
  /** Further sentences. */
  details?: string
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
  /** Headers of preconditions that it honours. */
  conditions?: readonly string[]
  /** Its errors have the specification's flat shape. */
  flatErrors?: boolean
  example?: Example
}

/** A request that was made, and what was answered: JSON, or the text of an answer of another type. */
export interface Example {
  path?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  status: number
  answer: unknown
}

/** `contentType`: one of several, or none at all, as of a redirect. */
export type Answer = z.ZodType | { contentType: string | readonly string[]; description: string }

export interface DocumentOptions {
  title: string
  version: string
  description: string
  letterCase: 'camel' | 'snake'
  /** By tag, what its routes are about. */
  tags: Record<string, string>
  securitySchemes: Record<string, object>
  /** The variable that the documents' lines for a shell have for the address of the program. */
  address: string
  routes: RouteDescription[]
}

type Json = Record<string, unknown>

export function openapiDocument(options: DocumentOptions): Json {
  const schemas: Record<string, Json> = { Error: jsonSchema(errorBody(options.letterCase), 'output', {}) }
  const paths: Record<string, Json> = {}
  const routes = options.routes.filter(({ path }) => !isTwin(path, options.routes))
  for (const route of routes) {
    paths[route.path] ??= {}
    const item = paths[route.path] as Json
    item[route.method.toLowerCase()] = operation(route, schemas)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: options.title,
      version: options.version,
      description: options.description,
      license: { name: 'Apache License 2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    'x-loci-address': options.address,
    tags: [...new Set(routes.map((route) => route.tag))].sort().map((name) => tagOf(name, options.tags)),
    paths: Object.fromEntries(Object.entries(paths).sort(([a], [b]) => (a < b ? -1 : 1))),
    components: {
      schemas: Object.fromEntries(Object.entries(schemas).sort(([a], [b]) => (a < b ? -1 : 1))),
      securitySchemes: Object.fromEntries(
        Object.entries(options.securitySchemes).filter(([name]) =>
          routes.some(({ access }) => access.schemes.flat().includes(name)),
        ),
      ),
    },
  }
}

/** A path with a slash at its end, where the same without one is a path too: the document has the latter. */
function isTwin(path: string, routes: RouteDescription[]): boolean {
  return path.endsWith('/') && routes.some((other) => `${other.path}/` === path)
}

function tagOf(name: string, tags: Record<string, string>): Json {
  const description = tags[name]
  if (description === undefined) throw new Error(`nothing says what the routes of the tag '${name}' are about`)
  return { name, description }
}

function operation(route: RouteDescription, schemas: Record<string, Json>): Json {
  const parameters = [
    ...parametersOf('path', route.params, schemas, route.example?.path),
    ...parametersOf('query', route.query, schemas, route.example?.query),
    ...headersOf(route),
  ]
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [route.tag],
    ...accessOf(route),
    security: route.access.schemes.map((schemes) => Object.fromEntries(schemes.map((scheme) => [scheme, []]))),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: route.body.required,
            content: {
              'application/json': {
                schema: jsonSchema(route.body.schema, 'input', schemas),
                ...(route.example?.body === undefined ? {} : { example: route.example.body }),
              },
            },
          },
        }
      : {}),
    responses: responses(route, schemas),
  }
}

function accessOf({ access, details }: RouteDescription): Json {
  const { class: name, operation, secondOperation, domains = [], effect } = access
  const operations = [operation, secondOperation].filter((one) => one !== undefined)
  const needed = operations.length > 0 ? ` with ${operations.map((one) => `\`${one}\``).join(' and ')}` : ''
  const where = domains.length > 0 ? `, on ${domains.map((one) => `\`${one}\``).join(', ')} of one database` : ''
  return {
    description: `${details === undefined ? '' : `${details} `}Access: ${name}${needed}${where}.`,
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

function parametersOf(
  place: 'path' | 'query',
  schema: z.ZodType | undefined,
  schemas: Record<string, Json>,
  given: Record<string, string> = {},
): Json[] {
  if (!schema) return []
  const object = jsonSchema(schema, 'input', schemas)
  const required = new Set((object.required as string[] | undefined) ?? [])
  return Object.entries((object.properties as Record<string, Json> | undefined) ?? {}).map(([name, property]) => ({
    name,
    in: place,
    required: place === 'path' || required.has(name),
    schema: property,
    ...(given[name] === undefined ? {} : { example: exampleOf(given[name], property) }),
  }))
}

/** In an address everything is text. */
function exampleOf(text: string, { type }: Json): unknown {
  return type === 'integer' || type === 'boolean' ? JSON.parse(text) : text
}

/** Most headers that a route reads follow from the error codes that it can answer, so the two cannot disagree. */
function headersOf({ access, errors, conditions = [], requestHeaders = {} }: RouteDescription): Json[] {
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
    ...(conditions.includes('if-match')
      ? [header('If-Match', 'The quoted version that must be the current one, as in `"3"`; `*`: it must exist.', 100)]
      : []),
    ...(conditions.includes('if-none-match') ? [header('If-None-Match', '`*`: it must not exist.', 100)] : []),
    ...Object.entries(requestHeaders).map(([name, description]) => header(name, description, 100)),
  ]
}

const ERROR = { $ref: '#/components/schemas/Error' }

function responses(route: RouteDescription, schemas: Record<string, Json>): Json {
  const all: Record<string, Json> = {}
  for (const [status, answer] of Object.entries(route.answers)) {
    const { example } = route
    const told = example && example.status === Number(status) ? { example: example.answer } : {}
    all[status] =
      answer instanceof z.ZodType
        ? {
            description: 'Success.',
            ...(route.answerHeaders ? { headers: answerHeadersOf(route.answerHeaders) } : {}),
            content: { 'application/json': { schema: jsonSchema(answer, 'output', schemas), ...told } },
          }
        : {
            description: answer.description,
            ...(route.answerHeaders ? { headers: answerHeadersOf(route.answerHeaders) } : {}),
            ...contentOf(answer.contentType, told),
          }
  }
  const byStatus = Map.groupBy(route.errors, (code) => ERRORS[code].status)
  for (const [status, codes] of [...byStatus].sort(([a], [b]) => a - b)) {
    const error = {
      schema: route.flatErrors ? jsonSchema(flatErrorBody, 'output', schemas) : ERROR,
    }
    const known = all[status]
    all[status] = {
      description: [known?.description, ...codes.map((code) => `\`${code}\`: ${ERRORS[code].meaning}`)]
        .filter(Boolean)
        .join(' '),
      content: withError(known, error),
    }
  }
  // A route that only refuses: every tool that reads the document looks for an answer that is no error.
  if (Object.keys(route.answers).length === 0)
    all.default = {
      description: 'There is no other answer than an error.',
      content: withError(undefined, { schema: ERROR }),
    }
  return all
}

/** Readiness, pages and MCP answer the same status with a body that is not an error; JSON without a schema stays so. */
function withError(known: Json | undefined, error: Json): Json {
  const content = (known?.content ?? {}) as Record<string, { schema?: unknown }>
  const json = content['application/json']
  if (json && !json.schema) return content
  return { ...content, 'application/json': json ? { schema: { anyOf: [json.schema, error.schema] } } : error }
}

function contentOf(contentType: string | readonly string[], told: Json): Json {
  const types = [contentType].flat()
  return types.length === 0 ? {} : { content: Object.fromEntries(types.map((type) => [type, told])) }
}

function answerHeadersOf(headers: Record<string, string>): Json {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
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
