// The types of the Python client, made from the same OpenAPI documents as those of sdk/, and the twin without await of
// its calls. scripts/documents.ts writes both and checks that they are current.
//
// A TypedDict cannot stand inside another one, so each nested object has a name: that of its parent and its field. What
// may be left out stands in a class of its own with total=False: NotRequired came with Python 3.11.

import {
  type Direction,
  type OpenapiDocument,
  type Operation,
  reachable,
  type Schema,
  successesOf,
  takesKey,
} from './sdk.ts'

interface Named {
  name: string
  operation: Operation
}

/** Keyword arguments of a verb: the fields of a body, or the query of a route, in snake_case. */
export interface ArgumentsOf {
  name: string
  of: string
  without?: string[]
}

export const DAEMON_ARGUMENTS: ArgumentsOf[] = [
  { name: 'RecordArguments', of: 'RecordWrite', without: ['content'] },
  { name: 'RecallArguments', of: 'RecallRequest', without: ['query'] },
  { name: 'SlotArguments', of: 'SlotWrite', without: ['value'] },
  { name: 'SlotChanges', of: 'SlotPatch' },
  { name: 'EntryArguments', of: 'EntryWrite', without: ['value'] },
  { name: 'CycleArguments', of: 'CycleRun', without: ['observations'] },
  { name: 'AdviceArguments', of: 'AdviceRequest', without: ['sourceEventId'] },
  { name: 'OutcomeArguments', of: 'OutcomeWrite', without: ['tools'] },
  { name: 'EntryFilter', of: 'GET /v1/kv/entries', without: ['cursor'] },
  { name: 'MemoryFilter', of: 'GET /v1/memory/records', without: ['cursor'] },
  { name: 'CycleFilter', of: 'GET /v1/cognitive/cycles', without: ['cursor'] },
]

export const MANAGEMENT_ARGUMENTS: ArgumentsOf[] = [
  { name: 'ServiceArguments', of: 'CreateServiceRequest', without: ['name', 'service_type'] },
]

export function pythonTypes(program: string, document: OpenapiDocument, given: ArgumentsOf[]): string {
  const operations = operationsOf(document)
  const { schemas } = document.components
  const asked = reachable(
    operations.map(({ operation }) => [operation.parameters, operation.requestBody]),
    schemas,
  )
  const answered = reachable(
    operations.map(({ operation }) => successesOf(operation)),
    schemas,
  )
  const types = new Types((name) => (answered.has(name) ? `${name}Given` : name))
  for (const name of asked) types.declare(types.nameOf(name, 'given'), schemas[name] ?? {}, 'given')
  for (const name of answered) types.declare(name, schemas[name] ?? {}, 'answer')
  const overloads = operations.map((one) => overloadsOf(one, types))
  for (const one of given) types.declare(one.name, argumentsSchema(one, document), 'given')
  const title = program.charAt(0).toUpperCase() + program.slice(1)
  const protocol = (name: string, at: 0 | 1) =>
    `class ${name}(Protocol):\n    """Every route of ${program} by its \`METHOD /path\`, typed."""\n\n${overloads.map((one) => one[at]).join('\n')}`
  return `# Generated from docs/api/${program}.openapi.json by scripts/documents.ts; run that, do not edit this.

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, overload

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .calls import Answer, CallOptions, PathParameters

${types.text()}

${protocol(title, 0)}

${protocol(`Async${title}`, 1)}`
}

/** Read at every call, so it stands alone: the types need not be loaded for it. */
export function pythonKeyed(documents: Record<string, OpenapiDocument>): string {
  const sets = Object.entries(documents).map(([program, document]) => {
    const keyed = operationsOf(document).filter(({ operation }) => takesKey(operation))
    return `${program.toUpperCase()}_KEYED = frozenset(
    {
${keyed.map(({ name }) => `        ${literal(name)},\n`).join('')}    }
)
`
  })
  return `# Generated from docs/api by scripts/documents.ts; run that, do not edit this.
# The operations that honour an Idempotency-Key: a repeat of them is answered and not done again.

${sets.join('\n')}`
}

/** The same text without await. What differs otherwise stands in runtime.py and creating.py of both folders. */
export function withoutAwait(file: string, text: string): string {
  let twin = text
  for (const [from, to] of TWIN) twin = twin.replaceAll(from, to)
  // `Awaitable[X]` is X, whatever brackets X has.
  for (let at = twin.indexOf(AWAITABLE); at >= 0; at = twin.indexOf(AWAITABLE)) {
    const start = at + AWAITABLE.length
    let end = start
    for (let depth = 1; depth > 0; end += 1) depth += twin[end] === '[' ? 1 : twin[end] === ']' ? -1 : 0
    twin = twin.slice(0, at) + twin.slice(start, end - 1) + twin.slice(end)
  }
  // What is left of it is imported.
  twin = twin.replaceAll(/\bAwaitable, |, Awaitable\b/g, '')
  return `# Generated from clients/python/src/locihq/_async/${file} by scripts/documents.ts; run that, do not edit this.\n\n${twin}`
}

const AWAITABLE = 'Awaitable['
const TWIN: [RegExp, string][] = [
  [/\basync (def|for|with)\b/g, '$1'],
  [/\bawait /g, ''],
  [/\bAsync(?=[A-Z])/g, ''],
  [/\b__a(enter|exit|iter)__\b/g, '__$1__'],
  [/\ba(close|read|iter_bytes)\b/g, '$1'],
  [/\basynccontextmanager\b/g, 'contextmanager'],
]

function operationsOf({ paths }: OpenapiDocument): Named[] {
  return Object.entries(paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
    )
    .filter(({ operation }) => successesOf(operation).length > 0)
}

function overloadsOf({ name, operation }: Named, types: Types): [string, string] {
  const { parameters = [], requestBody } = operation
  const given: string[] = []
  if (parameters.some((one) => one.in === 'path')) given.push('path: PathParameters')
  const query = parameters.filter((one) => one.in === 'query')
  if (query.length > 0) {
    const required = query.filter((one) => one.required).map((one) => one.name)
    const properties = Object.fromEntries(query.map((one) => [one.name, one.schema]))
    const type = types.declare(`${pascal(name)}Query`, { type: 'object', properties, required }, 'given')
    given.push(required.length > 0 ? `query: ${type}` : `query: ${type} = ...`)
  }
  if (requestBody) {
    const type = types.of(requestBody.content['application/json']?.schema ?? {}, 'given', `${pascal(name)}Body`)
    given.push(requestBody.required === true ? `body: ${type}` : `body: ${type} = ...`)
  }
  if (takesKey(operation)) given.push('idempotency_key: str | None = ...')
  const bodies = successesOf(operation).map(([status, type]) => {
    if (typeof type !== 'string') return types.of(type, 'answer', `${pascal(name)}Answer${status}`)
    return type === 'string' ? 'str' : 'None'
  })
  const said = operation.summary ? `        """${operation.summary}"""\n` : '        ...\n'
  const of = (keyword: string) => `    @overload
    ${keyword}def call(
        self,
        name: Literal[${literal(name)}],
${given.length > 0 ? '        *,\n' : ''}${given.map((one) => `        ${one},\n`).join('')}        **options: Unpack[CallOptions],
    ) -> Answer[${[...new Set(bodies)].join(' | ')}]:
${said}`
  return [of(''), of('async ')]
}

function argumentsSchema({ of, without = [] }: ArgumentsOf, { components, paths }: OpenapiDocument): Schema {
  const [method = '', path = ''] = of.split(' ')
  const parameters = paths[path]?.[method.toLowerCase()]?.parameters?.filter((one) => one.in === 'query')
  const body = components.schemas[of]
  const properties = parameters
    ? Object.fromEntries(parameters.map((one) => [one.name, one.schema]))
    : (body?.properties as Record<string, Schema> | undefined)
  if (!properties) throw new Error(`no body and no route is called '${of}'`)
  const kept = Object.entries(properties).filter(([field]) => !without.includes(field))
  // A verb makes up what it is not given, so nothing is required here but what the document requires of everybody.
  const required = (body?.required ?? []) as string[]
  return {
    type: 'object',
    properties: Object.fromEntries(kept.map(([field, schema]) => [snake(field), schema])),
    required: required.filter((field) => !without.includes(field)).map(snake),
  }
}

/** Declarations by name, and the expressions that name them. */
class Types {
  readonly #declared = new Map<string, string>()
  readonly #given: (component: string) => string

  constructor(given: (component: string) => string) {
    this.#given = given
  }

  text(): string {
    return [...this.#declared]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([, text]) => text)
      .join('\n\n')
  }

  nameOf(component: string, direction: Direction): string {
    return direction === 'given' ? this.#given(component) : component
  }

  declare(name: string, schema: Schema, direction: Direction): string {
    if (schema.type !== 'object' || !schema.properties) {
      const type = this.of(schema, direction, `${name}Value`)
      this.#declared.set(name, `${name}: TypeAlias = ${literal(type)}\n`)
      return name
    }
    // Before its fields, which may name it.
    this.#declared.set(name, '')
    const required = (schema.required ?? []) as string[]
    const fields = Object.entries(schema.properties as Record<string, Schema>).map(([field, one]) => ({
      field,
      isRequired: required.includes(field),
      type: this.of(one, direction, name + pascal(field)),
    }))
    const [always, maybe] = [fields.filter((one) => one.isRequired), fields.filter((one) => !one.isRequired)]
    if (always.length === 0) this.#declared.set(name, typedDict(name, 'TypedDict, total=False', maybe))
    else if (maybe.length === 0) this.#declared.set(name, typedDict(name, 'TypedDict', always))
    else {
      const [base, text] = [`_${name}`, typedDict(`_${name}`, 'TypedDict', always)]
      this.#declared.set(name, `${text}\n\n${typedDict(name, `${base}, total=False`, maybe)}`)
    }
    return name
  }

  of(schema: Schema, direction: Direction, name: string): string {
    if (typeof schema.$ref === 'string') return this.nameOf(schema.$ref.split('/').at(-1) ?? '', direction)
    if ('const' in schema) return schema.const === null ? 'None' : `Literal[${literal(schema.const)}]`
    if (Array.isArray(schema.enum)) {
      const open = direction === 'answer' && schema.enum.some((value) => typeof value === 'string')
      return `Literal[${schema.enum.map(literal).join(', ')}]${open ? ' | str' : ''}`
    }
    const choices = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
    if (choices) return unionOf(choices.map((one, at) => this.of(one, direction, at === 0 ? name : `${name}${at + 1}`)))
    if (Array.isArray(schema.type))
      return unionOf(schema.type.map((type) => this.of({ ...schema, type }, direction, name)))
    if (schema.type === 'array') return `list[${this.#itemsOf(schema, direction, `${name}Item`)}]`
    if (schema.type !== 'object') return SCALARS[String(schema.type)] ?? 'Any'
    if (schema.properties) return this.declare(name, schema, direction)
    const rest = schema.additionalProperties
    const values =
      typeof rest === 'object' && rest !== null ? this.of(rest as Schema, direction, `${name}Value`) : 'Any'
    return direction === 'given' ? `Mapping[str, ${values}]` : `dict[str, ${values}]`
  }

  /** Of an array with places, any of them: what comes from JSON is a list. */
  #itemsOf({ items, prefixItems }: Schema, direction: Direction, name: string): string {
    if (!Array.isArray(prefixItems)) return this.of((items ?? {}) as Schema, direction, name)
    return unionOf(prefixItems.map((one, at) => this.of(one as Schema, direction, `${name}${at + 1}`)))
  }
}

const SCALARS: Record<string, string> = {
  string: 'str',
  integer: 'int',
  number: 'float',
  boolean: 'bool',
  null: 'None',
}

function unionOf(types: string[]): string {
  return types.includes('Any') ? 'Any' : [...new Set(types)].join(' | ')
}

function typedDict(name: string, bases: string, fields: { field: string; type: string }[]): string {
  if (fields.every(({ field }) => /^[A-Za-z_]\w*$/.test(field) && !KEYWORDS.has(field))) {
    const body = fields.map(({ field, type }) => `    ${field}: ${type}\n`).join('')
    return `class ${name}(${bases}):\n${body || '    pass\n'}`
  }
  // A field that is called `in` or `from` can stand in a mapping alone.
  const [base, total] = bases.split(', ') as [string, string?]
  const own = base === 'TypedDict' ? name : `${base}Maybe`
  const body = fields.map(({ field, type }) => `        ${literal(field)}: ${literal(type)},\n`).join('')
  const text = `${own} = TypedDict(\n    ${literal(own)},\n    {\n${body}    },\n${total ? `    ${total},\n` : ''})\n`
  return own === name ? text : `${text}\n\nclass ${name}(${base}, ${own}):\n    pass\n`
}

const KEYWORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
)

function literal(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return JSON.stringify(value)
}

function pascal(text: string): string {
  return text
    .split(/[^A-Za-z0-9]+/)
    .map((word) => (/^[A-Z]+$/.test(word) ? word.charAt(0) + word.slice(1).toLowerCase() : word))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
}

function snake(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
