// What a reader of /docs can paste: a curl line for a route, with the header that it needs, and with what was sent in
// its example; without one, with a body that its schema takes.

import { HEADER_VARIABLES } from './shell-names.ts'

export interface SecurityScheme {
  type: string
  in?: string
  name?: string
  description?: string
}

export interface ExampleDocument {
  schemas: Record<string, unknown>
  schemes: Record<string, SecurityScheme>
  /** The variable for the address of the program. */
  address: string
}

export interface LineOf {
  method: string
  path: string
  schemes: string[]
  /** A schema. */
  body?: unknown
  /** What was sent, where it is known. */
  sent: { path: Record<string, unknown>; query: Record<string, unknown>; body?: unknown }
}

interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  default?: unknown
  minimum?: number
  pattern?: string
  format?: string
}

/** `$CAP`, a whole header; or `authorization: Bearer $PARTNER`, where the shell of `npm run dev` has none for it. */
function credentialText(name: string, { schemes }: ExampleDocument): string {
  const known = HEADER_VARIABLES[name]
  if (known) return `$${known}`
  const scheme = schemes[name]
  const variable = `$${name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`
  if (scheme?.in === 'cookie') return `cookie: ${scheme.name}=${variable}`
  return scheme?.type === 'apiKey' ? `${scheme.name}: ${variable}` : `authorization: Bearer ${variable}`
}

/** The header alone, as it stands on the wire. */
export function credentialHeader(name: string, { schemes }: ExampleDocument): string {
  const scheme = schemes[name]
  if (scheme?.in === 'cookie') return `cookie ${scheme.name}`
  return scheme?.type === 'apiKey' ? String(scheme.name) : 'authorization: Bearer'
}

export function curlLine({ method, path, schemes, body, sent }: LineOf, document: ExampleDocument): string {
  // In double quotes and without braces: curl would read those as a list of addresses.
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) =>
    sent.path[name] === undefined
      ? `$${variableOf(path, name)}`
      : encodeURIComponent(String(sent.path[name])).replaceAll('%3A', ':'),
  )
  const query = new URLSearchParams(Object.entries(sent.query) as [string, string][])
  const data = sent.body ?? (body === undefined ? undefined : exampleOf(body, document))
  return [
    `curl -s${method === 'GET' ? '' : ` -X ${method}`} "$${document.address}${target}${query.size > 0 ? `?${query}` : ''}"`,
    ...schemes.map((name) => `-H "${credentialText(name, document)}"`),
    ...(data === undefined ? [] : ['-H "$J"', `-d '${shellText(data)}'`]),
  ].join(' \\\n  ')
}

/** `SERVICE_ID` for `/services/{id}`: with the thing in it, so that it is no name that the shell has for another. */
function variableOf(path: string, name: string): string {
  const before =
    path
      .slice(0, path.indexOf(`/{${name}}`))
      .split('/')
      .at(-1) ?? ''
  const thing = name.includes('_') ? '' : `${before.replace(/ies$/, 'y').replace(/s$/, '')}_`
  const variable = `${thing}${name}`.replaceAll('-', '_').toUpperCase()
  return variable === 'TENANT_ID' ? 'TENANT' : variable
}

function shellText(value: unknown): string {
  return JSON.stringify(value).replaceAll("'", "'\\''")
}

const DEPTH_MAX = 6
/** Where the name of a field says more than its type. */
const BY_NAME: Record<string, unknown> = {
  value: 'tea',
  key: 'user:ada',
  name: 'example',
  email: 'ada@example.com',
  region: 'us-east-1',
  endpoint: 'https://cell.example',
  reason: 'why',
}

/** The required fields of a schema with values that fit, or the first field where none is required. */
function exampleOf(given: unknown, { schemas }: ExampleDocument): unknown {
  function of(schema: Schema, name: string, depth: number): unknown {
    if (schema.$ref) return of((schemas[schema.$ref.split('/').at(-1) as string] ?? {}) as Schema, name, depth)
    if (schema.const !== undefined) return schema.const
    if (schema.enum) return schema.enum[0]
    const choice = schema.anyOf ?? schema.oneOf ?? schema.allOf
    if (choice) return of(choice.find(({ type }) => type !== 'null') ?? {}, name, depth)
    const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type
    if (type === 'object' || schema.properties) return depth >= DEPTH_MAX ? {} : objectOf(schema, depth)
    if (type === 'array') return depth >= DEPTH_MAX || !schema.items ? [] : [of(schema.items, name, depth + 1)]
    if (schema.default !== undefined) return schema.default
    if (type === 'integer' || type === 'number') return Math.max(1, schema.minimum ?? 1)
    if (type === 'boolean') return true
    if (type === undefined || BY_NAME[name] !== undefined) return BY_NAME[name] ?? 'anything'
    if (schema.format === 'date-time') return '2026-11-15T09:30:00.000Z'
    const prefix = /^\^(\w+?)_/.exec(schema.pattern ?? '')?.[1]
    return prefix ? `${prefix}_…` : '…'
  }
  function objectOf({ properties = {}, required = [] }: Schema, depth: number): object {
    const names = required.length > 0 ? required : Object.keys(properties).slice(0, 1)
    return Object.fromEntries(names.map((name) => [name, of(properties[name] ?? {}, name, depth + 1)]))
  }
  return of(given as Schema, '', 0)
}
