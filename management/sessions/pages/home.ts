// Where somebody who is signed in comes to: the console, or here, who has no organization yet, to make one. The page
// also tells without a script who is signed in.

import { parseInput } from '@loci/chassis/input.ts'
import { redirect } from '@loci/chassis/pages.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Reply, type Route, route } from '@loci/chassis/route.ts'
import { organizationMake } from '@loci/contract/organizations.ts'
import { anyPath, formBody } from '@loci/contract/pages.ts'
import type { Attempts } from '../../access/attempts.ts'
import type { OpenSession, SessionAccess } from '../../access/session.ts'
import { escapeHtml, page } from './pages.ts'
import { FORM_BYTES_MAX, PAGES, shown } from './shown.ts'

/** The person owns it. */
export type MakeOrganization = (of: { userId: string; name: string; requestId: string }) => Promise<void>

interface HomePageOptions {
  access: SessionAccess
  attempts: Attempts
  makeOrganization: MakeOrganization
}

const HOME = '/signed-in/done'
const CONSOLE = '/services'

export function homePages({ access, attempts, makeOrganization }: HomePageOptions): Route[] {
  const common = { tag: 'pages', answers: PAGES }
  return [
    route(
      {
        ...common,
        method: 'GET',
        path: HOME,
        access: open,
        summary: 'Show who is signed in, and their organizations.',
        details: 'Who has none can make one.',
      },
      shown(async ({ headers }) => {
        const session = await access.find(headers)
        return session ? home(session) : redirect('/sign-in')
      }),
    ),
    route(
      {
        ...common,
        method: 'POST',
        path: HOME,
        access: attempts.counted(access.sameSite),
        summary: 'Create the first organization of the person who is signed in.',
        details: 'POST /api/v1/organizations makes more.',
        body: formBody,
        bodyRaw: true,
        bodyBytesMax: FORM_BYTES_MAX,
      },
      shown(async ({ headers, body, requestId }) => {
        const session = await access.find(headers)
        if (!session) return redirect('/sign-in')
        // The form was sent twice, or from an old page.
        if (session.organizations.length > 0) return redirect(CONSOLE)
        const { name } = parseInput(organizationMake, { name: new URLSearchParams(String(body)).get('name') }, 'body')
        await makeOrganization({ userId: session.userId, name, requestId })
        return redirect(CONSOLE)
      }),
    ),
    ...['/', '/dashboard', '/dashboard/', '/dashboard/{path...}'].map((path) =>
      route(
        {
          ...common,
          method: 'GET',
          path,
          access: open,
          ...(path.includes('{') ? { params: anyPath } : {}),
          summary: 'Redirect to the console, or to sign-in where nobody is signed in.',
          ...(path === '/' ? {} : { details: 'An older path of the dashboard, with a slash at its end or without.' }),
        },
        shown(async ({ headers }) => {
          const session = await access.find(headers)
          if (!session) return redirect('/sign-in')
          return redirect(session.organizations.length > 0 ? CONSOLE : HOME)
        }),
      ),
    ),
  ]
}

function home({ email, organizations }: OpenSession): Reply {
  const rows = organizations.map(
    ({ id, name, role, plan }) =>
      `<li><strong>${escapeHtml(name)}</strong>: you are ${role === 'owner' || role === 'admin' ? 'an' : 'a'} ${role}, plan ${plan}<br><code>${escapeHtml(id)}</code></li>`,
  )
  const known = `<h2>Your organizations</h2>
<ul>${rows.join('\n')}</ul>
<p><a class="go" href="${CONSOLE}">Open the console</a></p>
<p><a href="/docs">The API</a> takes this session or an API key.${organizations.length > 1 ? ' With a session, name the organization in the header <code>x-loci-organization</code>.' : ''}</p>`
  const none = `<p>You belong to no organization yet. Make one, or ask an owner of yours for an invitation.</p>
<form method="post" action="${HOME}">
<p><label>Name of the organization <input name="name" required maxlength="100" autocomplete="organization"></label></p>
<p><button class="go">Make the organization</button></p>
</form>`
  const body = `<p>As <strong>${escapeHtml(email)}</strong>.</p>
${rows.length > 0 ? known : none}
<p><a href="/sign-out">Sign out</a></p>`
  return page('You are signed in', body, { hasForm: rows.length === 0 })
}
