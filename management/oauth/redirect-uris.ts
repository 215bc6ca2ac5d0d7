// Where a client may be sent with a code. Compared letter by letter; on loopback the port does not count, because a
// program on the person's own machine takes whichever is free (RFC 8252, 7.3).

const LENGTH_MAX = 2_000
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])
/** Of names and addresses. Others, such as `;` and `*`, mean something in the policy of the page that leads there. */
const HOST = /^([a-z0-9_.-]+|\[[0-9a-f:.]+\])$/

/** https, or http on loopback, without fragment or credentials. No schemes of apps: any app may claim one. */
export function isRedirectUri(text: unknown): text is string {
  if (typeof text !== 'string' || text.length > LENGTH_MAX || !/^[!-~]+$/.test(text) || text.includes('\\'))
    return false
  const url = URL.parse(text)
  if (!url || text.includes('#') || url.username !== '' || url.password !== '') return false
  if (!HOST.test(url.hostname)) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.has(url.hostname))
}

/** Whether the request's address is one of the client's own. */
export function isOneOf(asked: string, own: readonly string[]): boolean {
  return isRedirectUri(asked) && own.some((one) => one === asked || isSameOnLoopback(asked, one))
}

function isSameOnLoopback(asked: string, own: string): boolean {
  const [a, b] = [new URL(asked), new URL(own)]
  if (b.protocol !== 'http:' || !LOOPBACK.has(b.hostname)) return false
  const rest = (url: URL) => [url.protocol, url.hostname, url.pathname, url.search].join(' ')
  return rest(a) === rest(b)
}
