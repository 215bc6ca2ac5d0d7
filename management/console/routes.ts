// The console in a browser: one page for all of its addresses, which finds its way by itself, and the files it loads.
// Nobody is asked who they are: the page holds no data, and what it asks for afterwards is asked by the session.

import { ApiError } from '@loci/chassis/api-error.ts'
import { open } from '@loci/chassis/probes.ts'
import { accepts } from '@loci/chassis/published.ts'
import { type Reply, type Route, reply, route } from '@loci/chassis/route.ts'
import { anyPath } from '@loci/contract/pages.ts'
import { page } from '../sessions/pages/pages.ts'
import { builtConsole } from './built.ts'

/** The addresses of console/routes.tsx. */
const PLACES = [
  ...['/services', '/services/{path...}', '/s/{path...}', '/o/{path...}', '/staff/{path...}', '/go/{path...}'],
]
const YEAR_S = 31_536_000

export function consoleRoutes({ folder }: { folder: string | undefined }): Route[] {
  const built = builtConsole(folder)
  const common = { method: 'GET', access: open, tag: 'pages', deadline: 'probe' } as const
  return [
    ...PLACES.map((path) =>
      route(
        {
          ...common,
          path,
          ...(path.includes('{') ? { params: anyPath } : {}),
          summary: 'Show the console.',
          details: 'The same page at each of its addresses.',
          requestHeaders: { 'If-None-Match': 'The ETag of the page that the browser has: then 304 without a body.' },
          answers: {
            200: { contentType: 'text/html', description: 'The page of the console.' },
            304: { contentType: [], description: 'The browser has this page already.' },
            409: {
              contentType: ['text/html', 'application/json'],
              description: 'The console is not built: a page for browsers, an error for others.',
            },
          },
          errors: ['INVALID_STATE'],
        },
        ({ headers }) => built()?.page(headers) ?? notBuilt(headers),
      ),
    ),
    route(
      {
        ...common,
        path: '/console/{path...}',
        params: anyPath,
        summary: 'Read a file of the console.',
        details: 'Its name has a hash of what it holds, so it may be kept for ever.',
        answers: {
          200: {
            contentType: ['text/javascript', 'text/css', 'font/woff2', 'image/svg+xml', 'text/plain'],
            description: 'The file, compressed where the browser accepts that.',
          },
        },
        errors: ['NOT_FOUND'],
      },
      ({ params: { path }, headers }) => {
        const file = built()?.files.get(path)
        if (!file) throw new ApiError('NOT_FOUND', 'This console has no such file. Reload the page.')
        const { contentType, plain, compressed } = file
        const [coding, bytes] = compressed.find(([name]) => accepts(headers, name)) ?? [undefined, plain]
        return reply(200, bytes, {
          'content-type': contentType,
          'cache-control': `public, max-age=${YEAR_S}, immutable`,
          'cross-origin-resource-policy': 'same-origin',
          ...(compressed.length > 0 ? { vary: 'accept-encoding' } : {}),
          ...(coding ? { 'content-encoding': coding } : {}),
        })
      },
    ),
  ]
}

/** Not 404: the address exists, whether there is something to show at it or not. */
function notBuilt({ accept }: Record<string, string | string[] | undefined>): Reply {
  if (!String(accept).includes('text/html'))
    throw new ApiError('INVALID_STATE', 'The console is not built. In a checkout `npm run build -- console` builds it.')
  const body = `<p>This installation runs from a checkout in which the console was not built. The API serves all the same.</p>
<p><code>npm run build -- console</code> builds it; then reload this page.</p>
<p><a href="/signed-in/done">Who is signed in</a> · <a href="/docs">The API</a></p>`
  return page('The console is not built', body, { status: 409 })
}
