// The sdk's types of one program, made from its OpenAPI document. scripts/documents.ts writes them and checks that they
// are current.
//
// What is given and what is answered are typed differently. In answers an enum is open, because clients must take
// values that they do not know; in requests it is closed, and an optional field may also be undefined,
// which JSON leaves out.

export type Schema = { [keyword: string]: unknown }
export type Direction = 'given' | 'answer'
/** What a component is called in one direction. */
type NameOf = (component: string, direction: Direction) => string

export interface Operation {
  summary?: string
  description?: string
  parameters?: { name: string; in: string; required?: boolean; schema: Schema }[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}
type Content = Record<string, { schema?: Schema }>

export interface OpenapiDocument {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}

export function operationsFile(program: string, { paths, components }: OpenapiDocument): string {
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `'${method.toUpperCase()} ${path}'`, operation })),
  )
  const operations = all.filter(({ operation }) => successesOf(operation).length > 0)
  const given = reachable(
    operations.map(({ operation }) => [operation.parameters, operation.requestBody]),
    components.schemas,
  )
  const answered = reachable(
    operations.map(({ operation }) => successesOf(operation)),
    components.schemas,
  )
  const nameOf: NameOf = (component, direction) =>
    direction === 'given' && answered.has(component) ? `${component}Given` : component
  const declare = (names: Set<string>, direction: Direction) =>
    [...names].map((component) => {
      const type = typeOf(components.schemas[component] ?? {}, direction, nameOf, '')
      return `export type ${nameOf(component, direction)} = ${type}\n`
    })
  const title = program.charAt(0).toUpperCase() + program.slice(1)
  return `// Generated from docs/api/${program}.openapi.json by scripts/documents.ts; run that, do not edit this.

export type ${title}Operations = {
${operations.map(({ name, operation }) => operationType(name, operation, nameOf)).join('')}}

/** Those that honour an Idempotency-Key: a repeat of them is answered and not done again. */
export const ${program.toUpperCase()}_KEYED: ReadonlySet<string> = new Set([
${operations
  .filter(({ operation }) => takesKey(operation))
  .map(({ name }) => `  ${name},\n`)
  .join('')}])

/** Any value that a later server may add: compare with those you know, and take the others too. */
type Other = string & {}

${[...declare(given, 'given'), ...declare(answered, 'answer')].sort().join('\n')}`
}

function operationType(name: string, operation: Operation, nameOf: NameOf): string {
  // Who may call stands in the documents; whoever reads a type wants to know what the call does.
  const details = operation.description?.replace(/ ?Access: [^.]*\.$/, '')
  const said = [operation.summary, details].filter(Boolean).join(' ')
  const summary = said ? `  /** ${said.replaceAll('*/', '* /')} */\n` : ''
  const answers = successesOf(operation).map(([status, type]) => {
    return `${status}: ${typeof type === 'string' ? type : typeOf(type, 'answer', nameOf, '      ')}`
  })
  return `${summary}  ${name}: {
    given: ${block(givenFields(operation, nameOf), '    ')}
    answers: ${block(answers, '    ')}
  }
`
}

/** The client sends this header itself where the document has it; callers may give `idempotencyKey`. */
const IDEMPOTENCY_KEY = 'idempotency-key'

export function takesKey({ parameters = [] }: Operation): boolean {
  return parameters.some((one) => one.in === 'header' && one.name.toLowerCase() === IDEMPOTENCY_KEY)
}

const PLACES = { path: 'path', query: 'query', header: 'headers' }

function givenFields(operation: Operation, nameOf: NameOf): string[] {
  const { parameters = [], requestBody } = operation
  const fields: string[] = []
  const add = (field: string, required: boolean, schema: Schema) => {
    const type = typeOf(schema, 'given', nameOf, '      ')
    fields.push(required ? `${field}: ${type}` : `${field}?: ${type} | undefined`)
  }
  for (const [place, field] of Object.entries(PLACES)) {
    const here = parameters.filter((one) => one.in === place && one.name.toLowerCase() !== IDEMPOTENCY_KEY)
    if (here.length === 0) continue
    const required = here.filter((one) => one.required).map((one) => one.name)
    const properties = Object.fromEntries(here.map((one) => [one.name, one.schema]))
    add(field, required.length > 0, { type: 'object', properties, required })
  }
  if (requestBody) {
    add('body', requestBody.required === true, requestBody.content['application/json']?.schema ?? {})
  }
  if (takesKey(operation)) fields.push('idempotencyKey?: string | undefined')
  return fields
}

/** By status: a schema, or a type as it is written. None for a stream, which is no answer that one could wait for. */
export function successesOf({ responses }: Operation): [status: string, type: Schema | string][] {
  return Object.entries(responses)
    .filter(([status]) => /^2\d\d$/.test(status))
    .flatMap(([status, { content = {} }]): [string, Schema | string][] => {
      const json = content['application/json']
      if (json) return [[status, json.schema ?? {}]]
      const types = Object.keys(content)
      if (types.length === 0) return [[status, 'undefined']]
      return types.some((type) => /^text\/(?!event-stream)/.test(type)) ? [[status, 'string']] : []
    })
}

export function reachable(from: unknown, schemas: Record<string, Schema>): Set<string> {
  const names = new Set<string>()
  const visit = (value: unknown) => {
    for (const [, name = ''] of JSON.stringify(value).matchAll(/"\$ref":"[^"]*\/([^"/]+)"/g)) {
      if (names.has(name)) continue
      names.add(name)
      visit(schemas[name] ?? {})
    }
  }
  visit(from)
  return names
}

function typeOf(schema: Schema, direction: Direction, nameOf: NameOf, indent: string): string {
  const inner = (one: unknown, deeper = indent) => typeOf(one as Schema, direction, nameOf, deeper)
  if (typeof schema.$ref === 'string') return nameOf(schema.$ref.split('/').at(-1) ?? '', direction)
  if ('const' in schema) return literal(schema.const)
  if (Array.isArray(schema.enum)) {
    const open = direction === 'answer' && schema.enum.some((value) => typeof value === 'string')
    return [...schema.enum.map(literal), ...(open ? ['Other'] : [])].join(' | ')
  }
  const choices = (schema.anyOf ?? schema.oneOf) as unknown[] | undefined
  if (choices) return [...new Set(choices.map((one) => inner(one)))].join(' | ')
  if (Array.isArray(schema.allOf)) return schema.allOf.map((one) => `(${inner(one)})`).join(' & ')
  if (Array.isArray(schema.type)) return schema.type.map((type) => inner({ ...schema, type })).join(' | ')
  if (Array.isArray(schema.prefixItems)) return `[${schema.prefixItems.map((one) => inner(one)).join(', ')}]`
  if (schema.type === 'array') return arrayOf(inner(schema.items ?? {}))
  if (schema.type === 'object') return objectType(schema, direction, indent, inner)
  return SCALARS[String(schema.type)] ?? 'unknown'
}

const SCALARS: Record<string, string> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

function objectType(
  { properties = {}, required = [], additionalProperties: rest }: Schema,
  direction: Direction,
  indent: string,
  inner: (schema: unknown, indent: string) => string,
): string {
  const fields = Object.entries(properties as Record<string, Schema>).map(([name, schema]) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : literal(name)
    const type = inner(schema, `${indent}  `)
    if ((required as string[]).includes(name)) return `${key}: ${type}`
    return `${key}?: ${type}${direction === 'given' ? ' | undefined' : ''}`
  })
  // Beside named fields of other types an index can only be unknown.
  const others = fields.length > 0 || typeof rest !== 'object' ? 'unknown' : inner(rest, indent)
  const open = rest !== undefined && rest !== false
  if (fields.length === 0) return `{ [field: string]: ${others} }`
  return block(open ? [...fields, `[field: string]: ${others}`] : fields, indent)
}

function arrayOf(item: string): string {
  return /^\w+$/.test(item) ? `${item}[]` : `(${item})[]`
}

function block(fields: string[], indent: string): string {
  return fields.length === 0 ? '{}' : `{\n${fields.map((field) => `${indent}  ${field}\n`).join('')}${indent}}`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replaceAll(/['\\]/g, '\\$&')}'` : JSON.stringify(value)
}
