// GET /docs: the OpenAPI document as one page. It is drawn here and needs no script: nothing is loaded from anywhere, so an
// operator without internet reads it too, and its content security policy can forbid everything but its own style.

import { createHash } from 'node:crypto'

interface Operation {
  summary?: string
  tags?: string[]
  'x-loci-access'?: string
  'x-loci-operation'?: string
  parameters?: { name: string; in: string; required: boolean; schema: unknown }[]
  requestBody?: { required: boolean; content: Record<string, { schema?: unknown }> }
  responses?: Record<string, { description: string; content?: Record<string, { schema?: unknown }> }>
}

const STYLE = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:2.5rem;border-bottom:1px solid}details{border:1px solid #8884;border-radius:6px;margin:.5rem 0;padding:.4rem .8rem}
summary{cursor:pointer}code,pre{font:14px/1.45 ui-monospace,monospace}pre{overflow:auto;background:#8881;padding:.6rem;border-radius:6px}
.m{display:inline-block;min-width:4.5em;font-weight:700}.a{float:right;opacity:.75}table{border-collapse:collapse}td,th{text-align:left;padding:.15rem .8rem .15rem 0;vertical-align:top}`

export function docsPage(document: Record<string, unknown>): { html: string; contentSecurityPolicy: string } {
  const { title, version, description } = document.info as { title: string; version: string; description: string }
  const operations = Object.entries(document.paths as Record<string, Record<string, Operation>>).flatMap(
    ([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
  )
  const byTag = [...Map.groupBy(operations, ({ operation }) => operation.tags?.[0] ?? 'other')].sort(([a], [b]) =>
    a < b ? -1 : 1,
  )
  const components = (document.components as { schemas: Record<string, unknown> }).schemas
  const html = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${text(title)}</title><style>${STYLE}</style></head><body>
<h1>${text(title)} <small>${text(version)}</small></h1><p>${text(description)}</p>
<p>Machine-readable: <a href="/openapi.json">/openapi.json</a>. Parts: ${byTag.map(([tag]) => `<a href="#${text(tag)}">${text(tag)}</a>`).join(' · ')} · <a href="#schemas">schemas</a></p>
${byTag.map(([tag, list]) => `<h2 id="${text(tag)}">${text(tag)}</h2>${list.map(operationHtml).join('\n')}`).join('\n')}
<h2 id="schemas">schemas</h2>
${Object.entries(components)
  .map(
    ([name, schema]) =>
      `<details id="schema-${text(name)}"><summary><code>${text(name)}</code></summary>${json(schema)}</details>`,
  )
  .join('\n')}
</body></html>`
  const digest = createHash('sha256').update(STYLE).digest('base64')
  return {
    html,
    contentSecurityPolicy: `default-src 'none'; style-src 'sha256-${digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  }
}

function operationHtml({ path, method, operation }: { path: string; method: string; operation: Operation }): string {
  const access = [operation['x-loci-access'], operation['x-loci-operation']].filter(Boolean).join(' · ')
  const parameters = operation.parameters?.length
    ? `<h4>Parameters</h4><table>${operation.parameters.map((one) => `<tr><td><code>${text(one.name)}</code></td><td>${text(one.in)}${one.required ? ', required' : ''}</td><td>${json(one.schema)}</td></tr>`).join('')}</table>`
    : ''
  const body = operation.requestBody
    ? `<h4>Body</h4>${json(operation.requestBody.content['application/json']?.schema)}`
    : ''
  const responses = Object.entries(operation.responses ?? {})
    .map(
      ([status, { description, content }]) =>
        `<tr><th>${text(status)}</th><td>${text(description)}${Number(status) < 400 ? json(content?.['application/json']?.schema) : ''}</td></tr>`,
    )
    .join('')
  return `<details><summary><span class="m">${method}</span> <code>${text(path)}</code> <span class="a">${text(access)}</span><br>${text(operation.summary ?? '')}</summary>${parameters}${body}<h4>Answers</h4><table>${responses}</table></details>`
}

function json(value: unknown): string {
  if (value === undefined) return ''
  const reference = (value as { $ref?: string }).$ref?.split('/').at(-1)
  if (reference) return `<p><a href="#schema-${text(reference)}"><code>${text(reference)}</code></a></p>`
  return `<pre>${text(JSON.stringify(value, null, 2))}</pre>`
}

function text(value: string): string {
  return value.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
