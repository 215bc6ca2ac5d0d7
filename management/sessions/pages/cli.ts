// Where a person approves a command line. The code is typed, never filled in by the link that led here: whoever sends
// such a link to somebody else gets no key by it.

import { ApiError } from '@loci/chassis/api-error.ts'
import { redirect } from '@loci/chassis/pages.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Reply, type Route, route } from '@loci/chassis/route.ts'
import { cliPageQuery, formBody } from '@loci/contract/pages.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Attempts } from '../../access/attempts.ts'
import { isFreshSignIn } from '../../access/own.ts'
import type { OpenSession, SessionAccess } from '../../access/session.ts'
import { useOrganization } from '../../access/store.ts'
import { decideLogin, findLoginId, noSuchLogin } from '../cli-logins/cli-logins.ts'
import { escapeHtml, page } from './pages.ts'
import { FORM_BYTES_MAX, PAGES, shown } from './shown.ts'

interface CliPageOptions {
  access: SessionAccess
  pool: Pool
  attempts: Attempts
}

const PATH = '/cli-login'
const RETURN = new URLSearchParams({ return_to: PATH })

export function cliPages({ access, pool, attempts }: CliPageOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: PATH,
        access: open,
        tag: 'pages',
        summary: 'Show the page where a person approves a command line.',
        details: 'After a sign-in of the last 10 minutes.',
        query: cliPageQuery,
        answers: PAGES,
      },
      shown(async ({ headers }) => {
        const session = await access.find(headers)
        if (!session) return redirect(`/sign-in?${RETURN}`)
        return isFreshSignIn(session) ? approvalForm(session) : signInAgain(session, 200)
      }),
    ),
    route(
      {
        method: 'POST',
        path: PATH,
        access: attempts.counted(access.sameSite),
        tag: 'pages',
        summary: 'Approve or deny a command line.',
        body: formBody,
        bodyRaw: true,
        bodyBytesMax: FORM_BYTES_MAX,
        answers: PAGES,
      },
      shown<unknown, string>(async ({ caller: address, headers, body, requestId }) => {
        const fields = new URLSearchParams(String(body))
        const session = await access.find(headers)
        if (!session) return redirect(`/sign-in?${RETURN}`)
        const organization = session.organizations.find(({ id }) => id === fields.get('organization'))
        if (!organization) throw new ApiError('FORBIDDEN', 'You do not belong to this organization.')
        const userCode = (fields.get('user_code') ?? '').trim()
        const status = fields.get('decision') === 'approve' ? 'approved' : 'denied'
        if (status === 'approved' && !isFreshSignIn(session)) return signInAgain(session, 403)
        const id = await findLoginId(pool, userCode)
        if (id === undefined) throw attempts.failed(address, noSuchLogin())
        const { userId, id: sessionId } = session
        await transaction(pool, async (sql) => {
          await useOrganization(sql, organization.id)
          const who = { organizationId: organization.id, userId, sessionId }
          await decideLogin(sql, who, { id, userCode, status }, { actor: userId, requestId })
        })
        const outcome =
          status === 'approved'
            ? `Your command line gets an API key of ${escapeHtml(organization.name)} in your name. Go back to it.`
            : 'The command line gets no key. You can close this page.'
        return page(status === 'approved' ? 'Approved' : 'Denied', `<p>${outcome}</p>`)
      }),
    ),
  ]
}

function approvalForm({ organizations, email }: OpenSession): Reply {
  const choices = organizations.map(
    ({ id, name, role }, at) =>
      `<p><label><input type="radio" name="organization" value="${escapeHtml(id)}"${at === 0 ? ' checked' : ''} required> ${escapeHtml(name)} (${role})</label></p>`,
  )
  if (choices.length === 0)
    return page(
      'No organization yet',
      `<p><strong>${escapeHtml(email)}</strong> belongs to no organization. Make one, or ask an owner of yours for an invitation.</p>
<p><a class="go" href="/signed-in/done">Make an organization</a></p>`,
    )
  const body = `<p>A command line asks for an API key in the name of <strong>${escapeHtml(email)}</strong>. For 30 days the key may do whatever
you may do in the organization. Approve it only if you began this yourself, on a command line of your own.</p>
<form method="post" action="${PATH}">
<p><label>Code that your command line shows <input name="user_code" required autocomplete="off" spellcheck="false"></label></p>
<fieldset><legend>Organization</legend>${choices.join('\n')}</fieldset>
<p><button class="go" name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></p>
</form>`
  return page('Approve a command line', body, { hasForm: true })
}

/** Whoever has copied a cookie stops here: the provider asks for the person. */
function signInAgain({ email }: OpenSession, status: 200 | 403): Reply {
  const body = `<p>You signed in as <strong>${escapeHtml(email)}</strong> more than 10 minutes ago. An API key outlives your session, so sign in
again before you approve one.</p>
<p><a class="go" href="/sign-in/start?${escapeHtml(String(new URLSearchParams({ fresh: 'true', return_to: PATH })))}">Sign in again</a></p>`
  return page('Sign in again', body, { status })
}
