// Plain pages, for what comes before the console and must work without it: no script, nothing loaded from anywhere.
// Headings, labels, links and buttons as HTML has them, in the order in which they are read, so that a keyboard and a
// screen reader find their way.

import { hash } from 'node:crypto'
import { html } from '@loci/chassis/pages.ts'
import type { HeaderValues, Reply } from '@loci/chassis/route.ts'

/** The colours are the reader's own, light or dark; those of the one button that leads on have a contrast of 7 to 1. */
const STYLE = `:root{color-scheme:light dark;background:Canvas;color:CanvasText;font:1.0625rem/1.5 system-ui,sans-serif}body{margin:0;padding:1rem}
header,main{max-width:30rem;margin:0 auto}header{margin-top:6vh;font-weight:700}h1{font-size:1.75rem;line-height:1.2;margin:.75rem 0 1rem}
.go,button{display:inline-block;font:inherit;padding:.5rem 1.1rem;border:1px solid;border-radius:6px;text-decoration:none;background:none;color:inherit;cursor:pointer}
.go,button.go{background:#1d4ed8;border-color:#1d4ed8;color:#fff}a:focus-visible,button:focus-visible,input:focus-visible{outline:3px solid Highlight;outline-offset:2px}
button+button{margin-left:.5rem}fieldset{border:1px solid #8888;border-radius:6px;margin:1rem 0;padding:0 1rem}fieldset p{margin:.5rem 0}input[name=user_code],input[name=name]{display:block;font:inherit;width:100%;box-sizing:border-box;padding:.4rem .5rem}
input[name=user_code]{font:1.5rem ui-monospace,monospace;letter-spacing:.1em;width:12em;max-width:100%;padding:.3rem .5rem}h2{font-size:1.2rem}li{margin:.5rem 0}
[role=alert]{border-left:4px solid #b91c1c;padding-left:.8rem}code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}.q{font-size:.9rem}`
const STYLE_POLICY = { 'style-src': `'sha256-${hash('sha256', STYLE, 'base64')}'` }

interface PageOptions {
  status?: number
  hasForm?: boolean
  /** Where the answer to the form may lead besides our own pages: an origin. */
  formAction?: string
  headers?: HeaderValues
}

/** `body` is HTML: what came from outside has gone through escapeHtml(). */
export function page(
  title: string,
  body: string,
  { status = 200, hasForm = false, formAction, headers = {} }: PageOptions = {},
): Reply {
  const text = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(title)} · loci</title><style>${STYLE}</style></head>
<body><header>loci</header><main><h1>${escapeHtml(title)}</h1>
${body}
</main></body>
</html>
`
  return html(
    text,
    { ...STYLE_POLICY, ...(hasForm ? { 'form-action': ["'self'", formAction].filter(Boolean).join(' ') } : {}) },
    headers,
    status,
  )
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;')
}

/** It stands in a cookie while the person signs in, which has room for 4 KB, sealed. */
export const OWN_PATH_MAX = 1_800

/** A path of our own, or the start, which leads on: what a link brought must not lead a browser away. */
export function ownPath(text: string | undefined): string {
  return text !== undefined && text.length <= OWN_PATH_MAX && /^\/(?![/\\])[!-~]*$/.test(text) ? text : '/'
}
