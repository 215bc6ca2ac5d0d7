// GET /docs: the OpenAPI document as one page. It is drawn here and needs no script: nothing is loaded from anywhere,
// so an operator without internet reads it too, and its content security policy can forbid everything but its own
// style. Schemas are not folded: a link into a closed box would need a script to open it.

import { createHash } from 'node:crypto'
import { ERRORS, type ErrorCode } from '@loci/contract/errors.ts'
import { credentialHeader, curlLine, type ExampleDocument, type SecurityScheme } from './docs-example.ts'
import type { Policy } from './pages.ts'
import { HEADER_VARIABLES, SHELL, type ShellName } from './shell-names.ts'

interface Parameter {
  name: string
  in: string
  required: boolean
  description?: string
  schema: unknown
  example?: unknown
}

interface Content {
  schema?: unknown
  example?: unknown
}

interface Operation {
  summary?: string
  description?: string
  tags?: string[]
  security?: Record<string, unknown>[]
  'x-loci-access'?: string
  'x-loci-operation'?: string
  'x-loci-second-operation'?: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, Content> }
  responses?: Record<string, { description: string; content?: Record<string, Content> }>
}

interface Entry {
  path: string
  method: string
  operation: Operation
}

// What everybody needs first, what only those who run the place need last; what stands in neither list between them, by
// name.
const FIRST = ['kv', 'services', 'tokens', 'operations', 'tenants', 'events', 'api-keys', 'organizations']
const LAST = ['cells', 'quarantine', 'admin', 'health', 'documents']

const STYLE = `:root{color-scheme:light dark;background:Canvas;color:CanvasText}body{font:16px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:2.5rem;border-bottom:1px solid}h3,h4{font-size:1rem;margin:1rem 0 .3rem}summary h3{display:inline;font-weight:400;margin:0}
details{border:1px solid #8888;border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}summary{cursor:pointer}
code,pre{font:14px/1.45 ui-monospace,monospace}code{overflow-wrap:anywhere}pre{overflow:auto;background:#8882;padding:.6rem;border-radius:6px}
.m{display:inline-block;min-width:4.5em;font-weight:700}.r{display:inline-flex;flex-wrap:wrap;gap:0 1rem;justify-content:space-between;width:calc(100% - 1.5rem);vertical-align:top}p.s{margin:.1rem 0 0}
.t{overflow-x:auto}table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}:target{outline:2px solid Highlight;outline-offset:4px}`

export function docsPage(document: Record<string, unknown>): { html: string; policy: Policy } {
  const { title, version, description } = document.info as { title: string; version: string; description: string }
  const entries: Entry[] = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const byTag = [...Map.groupBy(entries, ({ operation }) => operation.tags?.[0] ?? 'other')].sort(([a], [b]) =>
    byImportance(a, b),
  )
  const { schemas, securitySchemes: schemes = {} } = document.components as {
    schemas: Record<string, unknown>
    securitySchemes?: Record<string, SecurityScheme>
  }
  const known: ExampleDocument = { schemas, schemes, address: String(document['x-loci-address']) }
  const parts = [...byTag.map(([tag]) => tag), 'errors', 'schemas']
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${text(title)}</title><style>${STYLE}</style></head><body>
<main><h1>${text(title)} <small>${text(version)}</small></h1><p>${prose(description)}</p>
<p>Machine-readable: <a href="/openapi.json">/openapi.json</a>.</p>
<nav aria-label="Parts">${parts.map((part) => `<a href="#${anchor(part)}">${text(part)}</a>`).join(' · ')}</nav>
${callingHtml(entries, known)}
${byTag
  .map(
    ([tag, list]) =>
      `<h2 id="${anchor(tag)}">${text(tag)}</h2>\n${resourcesFirst(list)
        .map((entry) => operationHtml(entry, known))
        .join('\n')}`,
  )
  .join('\n')}
${errorsHtml(entries)}
<h2 id="schemas">schemas</h2>
${Object.entries(schemas)
  .map(([name, schema]) => `<h3 id="schema-${text(name)}"><code>${text(name)}</code></h3>${schemaHtml(schema)}`)
  .join('\n')}
</main></body></html>`
  const digest = createHash('sha256').update(STYLE).digest('base64')
  return {
    html,
    policy: { 'style-src': `'sha256-${digest}'` },
  }
}

function anchor(tag: string): string {
  return text(tag.replaceAll(' ', '-'))
}

function byImportance(a: string, b: string): number {
  const rank = (tag: string) =>
    FIRST.includes(tag) ? FIRST.indexOf(tag) : LAST.includes(tag) ? 1_000 + LAST.indexOf(tag) : 500
  return rank(a) - rank(b) || (a < b ? -1 : 1)
}

/** What can be written comes before what can only be read: entries before reports about them. */
function resourcesFirst(entries: Entry[]): Entry[] {
  const resourceOf = (path: string) => path.replace(/(\/\{[^}]+\}.*|\/batch)$/, '')
  const written = new Set(entries.filter(({ method }) => method !== 'GET').map(({ path }) => resourceOf(path)))
  const isWritten = ({ path }: Entry) => written.has(resourceOf(path))
  return [...entries.filter(isWritten), ...entries.filter((entry) => !isWritten(entry))]
}

/** Which header each credential goes into: those that a route of this program asks for. */
function callingHtml(entries: Entry[], known: ExampleDocument): string {
  const asked = new Set(entries.flatMap(({ operation }) => schemesOf(operation)))
  const rows = Object.entries(known.schemes)
    .filter(([name]) => asked.has(name))
    .map(
      ([name, { description = '' }]) =>
        `<tr><th scope="row"><code>${text(credentialHeader(name, known))}</code></th><td>${prose(description)}</td></tr>`,
    )
  if (rows.length === 0) return ''
  const names = [
    known.address as ShellName,
    'J' as const,
    ...[...asked].flatMap((name) => HEADER_VARIABLES[name] ?? []),
  ]
  const set = [...new Set(names)].map(
    (name) => `<tr><th scope="row"><code>$${name}</code></th><td>${prose(SHELL[name])}</td></tr>`,
  )
  return `<h2 id="calling">calling</h2><p>The curl lines below are for a shell with these variables, which <code>npm run dev</code> sets too, and with the other names in capitals set to yours.</p>
${table('Variables', set)}<p>Credentials go into these headers.</p>${table('Credentials', rows)}`
}

function schemesOf({ security = [] }: Operation): string[] {
  return Object.keys(security[0] ?? {})
}

function operationHtml({ path, method, operation }: Entry, known: ExampleDocument): string {
  const { parameters = [], requestBody, responses = {} } = operation
  const schemes = schemesOf(operation)
  const { schema: body, example } = requestBody?.content['application/json'] ?? {}
  const sentIn = (place: string) =>
    Object.fromEntries(
      parameters.filter((one) => one.in === place && one.example !== undefined).map((one) => [one.name, one.example]),
    )
  const sent = { path: sentIn('path'), query: sentIn('query'), ...(example === undefined ? {} : { body: example }) }
  const line = curlLine({ method, path, schemes, sent, ...(body === undefined ? {} : { body }) }, known)
  const [answers, errors] = [false, true].map((isError) =>
    Object.entries(responses).filter(([status]) => isError === !(Number(status) < 400)),
  ) as [[string, Answered][], [string, Answered][]]
  const rows = answers.map(
    ([status, { description, content }]) =>
      `<tr><th scope="row">${text(status)}</th><td>${prose(description)}${schemaHtml(content?.['application/json']?.schema)}</td></tr>`,
  )
  return `<details><summary><h3><span class="r"><span><span class="m">${method}</span> <code>${text(path)}</code></span> <span>${text(accessText(operation, known))}</span></span></h3><p class="s">${prose(operation.summary ?? '')}</p></summary>
${operation.description ? `<p>${prose(operation.description)}</p>` : ''}${block(line, `curl line for ${method} ${path}`)}${answers.map(answerHtml).join('')}
${parameters.length > 0 ? `<h4>Parameters</h4>${table('Parameters', parameters.map(parameterHtml))}` : ''}${body === undefined ? '' : `<h4>Body${requestBody?.required ? '' : ' (may be left out)'}</h4>${schemaHtml(body)}`}
${rows.length > 0 ? `<h4>Answers</h4>${table('Answers', rows)}` : ''}${errors.length > 0 ? errorsOf(errors) : ''}</details>`
}

type Answered = NonNullable<Operation['responses']>[string]

/** The answer of the example, where there is one. */
function answerHtml([status, { content = {} }]: [string, Answered]): string {
  const example = Object.values(content).find((one) => one.example !== undefined)?.example
  if (example === undefined) return ''
  return block(
    typeof example === 'string' ? example : JSON.stringify(example, null, 2),
    `Answer ${status} of the example`,
  )
}

/** Folded: most readers want to know what they get, and there are more errors than answers. */
function errorsOf(errors: [string, Answered][]): string {
  const rows = errors.map(
    ([status, { description }]) => `<tr><th scope="row">${text(status)}</th><td>${prose(description)}</td></tr>`,
  )
  const statuses = errors.map(([status]) => text(status)).join(', ')
  return `<details><summary>Errors: ${statuses}</summary>${table('Errors', rows)}</details>`
}

/** Who may call, in the words of the wire: the header, and what the credential must carry. */
function accessText(operation: Operation, known: ExampleDocument): string {
  const headers = schemesOf(operation).map((name) => credentialHeader(name, known))
  if (headers.length === 0) return 'open to everybody'
  const needs = operation['x-loci-operation']
  if (needs === undefined) return headers.join(' and ')
  const second = operation['x-loci-second-operation']
  return `${headers.join(' and ')}, ${needs === 'anyone' ? 'any scope' : needs}${second ? ` and ${second}` : ''}`
}

function parameterHtml({ name, in: place, required, description, schema }: Parameter): string {
  const said = description ?? (schema as { description?: string }).description ?? ''
  return `<tr><th scope="row"><code>${text(name)}</code></th><td>${text(place)}${required ? ', required' : ''}</td><td>${prose(said)} <code>${text(typeText(schema))}</code></td></tr>`
}

/** `string ≤ 64`, `integer 1..200 = 50`, `"a" | "b"`: a line of a table has no room for a schema. */
function typeText(schema: unknown): string {
  const {
    type,
    minimum,
    maximum,
    minLength,
    maxLength,
    pattern,
    default: fallback,
    ...rest
  } = schema as Record<string, unknown>
  if (Array.isArray(rest.enum)) return rest.enum.map((one) => JSON.stringify(one)).join(' | ')
  const range = minimum !== undefined || maximum !== undefined ? ` ${minimum ?? ''}..${maximum ?? ''}` : ''
  const length = maxLength === undefined ? '' : ` of ${minLength ?? 0} to ${maxLength} characters`
  const form = pattern === undefined || length !== '' ? '' : ` ${pattern}`
  return `${String(type ?? 'any')}${range}${length}${form}${fallback === undefined ? '' : ` = ${JSON.stringify(fallback)}`}`
}

/** The codes that routes of this program answer with. */
function errorsHtml(entries: Entry[]): string {
  const told = entries.flatMap(({ operation }) =>
    Object.values(operation.responses ?? {}).map((one) => one.description),
  )
  const codes = new Set(told.flatMap((description) => description.match(/`[A-Z][A-Z_]+`/g) ?? []))
  const rows = (Object.keys(ERRORS) as ErrorCode[])
    .filter((code) => codes.has(`\`${code}\``))
    .map((code) => {
      const { status, retryable, meaning } = ERRORS[code]
      return `<tr><th scope="row" id="error-${code}"><code>${code}</code></th><td>${status}</td><td>${retryable ? 'yes' : 'no'}</td><td>${prose(meaning)}</td></tr>`
    })
  const head =
    '<tr><th scope="col">code</th><th scope="col">status</th><th scope="col">retry as it is</th><th scope="col">meaning</th></tr>'
  return `<h2 id="errors">errors</h2>${table('Errors', rows, head)}`
}

function table(label: string, rows: string[], head = ''): string {
  return `<div class="t" tabindex="0" role="group" aria-label="${text(label)}"><table>${head ? `<thead>${head}</thead>` : ''}<tbody>${rows.join('')}</tbody></table></div>`
}

/** It scrolls sideways, so the keyboard must be able to come to it. */
function block(content: string, label: string): string {
  return `<pre tabindex="0" role="group" aria-label="${text(label)}">${text(content)}</pre>`
}

function schemaHtml(value: unknown): string {
  if (value === undefined) return ''
  const reference = (value as { $ref?: string }).$ref?.split('/').at(-1)
  if (reference) return `<p><a href="#schema-${text(reference)}"><code>${text(reference)}</code></a></p>`
  return block(JSON.stringify(value, null, 2), 'JSON Schema')
}

/** Backticks are how our descriptions mark code. */
function prose(value: string): string {
  return text(value).replace(/`([^`]+)`/g, '<code>$1</code>')
}

function text(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
