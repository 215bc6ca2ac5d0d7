// Answers for browsers: pages and redirects.

import { type HeaderValues, type Reply, reply } from './route.ts'

/** Nothing may be loaded, embedded, or sent anywhere. A page names what it needs beyond that. */
const POLICY = {
  'default-src': `'none'`,
  'base-uri': `'none'`,
  'form-action': `'none'`,
  'frame-ancestors': `'none'`,
}

/** Directives of the content security policy by name, such as `{ 'style-src': "'self'" }`. */
export type Policy = Readonly<Record<string, string>>

export function html(text: string, policy: Policy, headers: HeaderValues = {}, status = 200): Reply {
  const directives = Object.entries({ ...POLICY, ...policy }).map(([name, value]) => `${name} ${value}`)
  return reply(status, text, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': directives.join('; '),
    // Not `no-referrer`: with it a browser sends the forms of the page with `Origin: null`, as another site's would be.
    'referrer-policy': 'same-origin',
    ...headers,
  })
}

/** Visible ASCII; the second character decides whether browsers leave our origin: `//host` and `/\host` do. */
const OWN_PATH = /^\/(?![/\\])[!-~]*$/

/**
 * A text is a path of our own, and anything else a bug: what a request brought must not lead a browser away. Elsewhere
 * needs a URL, which code makes of its settings. 303 turns into a GET; 307 and 308 keep method and body.
 */
export function redirect(to: string | URL, headers: HeaderValues = {}, status: 303 | 307 | 308 = 303): Reply {
  if (typeof to === 'string' && !OWN_PATH.test(to)) throw new Error('a redirect leads away from our own origin')
  return reply(status, '', { ...headers, location: String(to) })
}
