import { ApiError, toApiError } from '@loci/chassis/api-error.ts'
import { redirect } from '@loci/chassis/pages.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Call, type Reply, type Route, route } from '@loci/chassis/route.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import {
  anyPath,
  type CliPageQuery,
  cliPageQuery,
  formBody,
  type SignedInQuery,
  type SignInQuery,
  signedInQuery,
  signInQuery,
} from '@loci/contract/pages.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Attempts } from '../access/attempts.ts'
import type { OpenSession, SessionAccess } from '../access/session.ts'
import { useOrganization } from '../access/store.ts'
import { decideLogin, findLoginId, noSuchLogin } from '../cli-logins/cli-logins.ts'
import { setSessionCookies } from '../sessions/cookies.ts'
import { ProviderRefusal } from '../sessions/provider.ts'
import type { SignIn } from '../sessions/sign-in.ts'
import { createSignOut } from '../sessions/sign-out.ts'
import { escapeHtml, ownPath, page, problemPage } from './pages.ts'
import { createPendingSignIns } from './pending.ts'

interface PageOptions {
  access: SessionAccess
  pool: Pool
  sealer: Sealer
  publicUrl: string
  signIn: SignIn | undefined
  attempts: Attempts
}

const HTML = { contentType: 'text/html', description: 'A page without scripts.' }
/** A refusal is a page as well; what access refuses is JSON. */
const ELSEWHERE = { contentType: [], description: 'Leads on to another page.' }
const REFUSAL = {
  contentType: ['text/html', 'application/json'],
  description: 'A page for browsers, an error for others.',
}
const REFUSALS = { 400: REFUSAL, 401: REFUSAL, 403: REFUSAL, 404: REFUSAL, 409: REFUSAL, 503: REFUSAL }
const PAGES = { 200: HTML, 303: ELSEWHERE, ...REFUSALS }
const FORM_BYTES_MAX = 4 * 1024

type PageCall<Query, Caller = unknown> = Call<Caller, unknown, Query, unknown>

export function pageRoutes(options: PageOptions): Route[] {
  return [...signInPages(options), ...signOutPages(options), ...cliPages(options)]
}

/** A browser shows a page, not JSON, whatever went wrong; to other clients a refusal is what it is everywhere. */
function shown<Query = unknown, Caller = unknown>(handle: (call: PageCall<Query, Caller>) => Promise<Reply>) {
  return async (call: PageCall<Query, Caller>): Promise<Reply> => {
    try {
      return await handle(call)
    } catch (error) {
      const refusal = toApiError(error)
      if (refusal.status === 500 || !String(call.headers.accept).includes('text/html')) throw refusal
      call.log.warn(
        { requestId: call.requestId, code: refusal.code, error: refusal.cause ?? refusal },
        'a page was refused',
      )
      return problemPage(refusal.status, refusal.message, call.requestId)
    }
  }
}

function signInPages({ access, sealer, publicUrl, signIn, attempts }: PageOptions): Route[] {
  const pending = createPendingSignIns(sealer, publicUrl)
  const redirectUri = `${publicUrl}/signed-in`
  const common = { access: open, tag: 'pages', answers: PAGES }
  const required = () => {
    if (!signIn) throw new ApiError('NOT_FOUND', 'Nobody can sign in here: LOCI_OIDC_ISSUER is not set.')
    if (!signIn.redirectUris.includes(redirectUri))
      throw new ApiError('NOT_FOUND', `This page needs ${redirectUri} in LOCI_OIDC_REDIRECT_URIS and at the provider.`)
    return signIn
  }
  return [
    route(
      { ...common, method: 'GET', path: '/sign-in', summary: 'Where a person signs in.', query: signInQuery },
      shown<SignInQuery>(async ({ query }) => {
        const { host } = new URL(required().provider.issuer)
        const next = new URLSearchParams({ return_to: ownPath(query.return_to) })
        return page(
          'Sign in',
          `<p>You sign in at <strong>${escapeHtml(host)}</strong> and come back here. loci never sees your password.</p>
<p><a class="go" href="/sign-in/start?${escapeHtml(String(next))}">Continue to ${escapeHtml(host)}</a></p>`,
        )
      }),
    ),
    route(
      {
        ...common,
        method: 'GET',
        path: '/sign-in/start',
        summary: 'Leads to the sign-in provider.',
        query: signInQuery,
      },
      shown<SignInQuery>(async ({ query, answer, yieldSlot }) => {
        const { provider, scopes } = required()
        yieldSlot()
        const { state, verifier } = pending.begin(answer, ownPath(query.return_to))
        return redirect(await provider.authorizeUrl({ redirectUri, scopes, state, verifier }))
      }),
    ),
    route(
      {
        ...common,
        access: attempts.counted(open),
        method: 'GET',
        path: '/signed-in',
        summary: 'Where the sign-in provider leads a browser back to. Leads on at once: its address has the code.',
        query: signedInQuery,
      },
      shown<SignedInQuery, string>(async ({ caller: address, query, headers, answer, yieldSlot }) => {
        const { provider, sessions } = required()
        const begun = pending.end(headers, answer, query.state)
        if (!begun)
          throw new ApiError(
            'FORBIDDEN',
            'This browser did not begin this sign-in, or began it too long ago. Sign in again.',
          )
        if (query.iss !== undefined && query.iss !== provider.issuer)
          throw new ApiError('FORBIDDEN', 'The answer is of another sign-in provider. Sign in again.')
        const refusal = new ApiError('UNAUTHENTICATED', 'The sign-in provider refused. Sign in again.')
        if (query.code === undefined) throw refusal
        yieldSlot()
        const code = { code: query.code, redirectUri, verifier: begun.verifier }
        const opened = sessions.open(code).catch((error) => {
          throw error instanceof ProviderRefusal ? attempts.failed(address, refusal) : error
        })
        setSessionCookies(answer, publicUrl, await opened)
        return redirect(ownPath(begun.returnTo))
      }),
    ),
    route(
      { ...common, method: 'GET', path: '/signed-in/done', summary: 'After a sign-in that leads nowhere else.' },
      shown(async ({ headers }) => {
        const session = await access.find(headers)
        if (!session) return redirect('/sign-in')
        const body = `<p>As <strong>${escapeHtml(session.email)}</strong>. You can close this page.</p>
<p><a href="/sign-out">Sign out</a></p>`
        return page('You are signed in', body)
      }),
    ),
    ...['/dashboard', '/dashboard/{path...}'].map((path) =>
      route(
        {
          ...common,
          method: 'GET',
          path,
          ...(path === '/dashboard' ? {} : { params: anyPath }),
          summary: 'An older path of the dashboard: leads to sign-in.',
        },
        () => redirect('/sign-in'),
      ),
    ),
  ]
}

function signOutPages({ access, publicUrl, signIn }: PageOptions): Route[] {
  const signOut = createSignOut({ access, publicUrl, signIn })
  return [
    route(
      {
        method: 'GET',
        path: '/sign-out',
        access: open,
        tag: 'pages',
        summary: 'Where a person signs out.',
        answers: PAGES,
      },
      shown(async () =>
        page(
          'Sign out',
          `<p>This ends your session in this browser at once, in every tab.</p>
<form method="post" action="/sign-out"><button class="go">Sign out</button></form>`,
          { hasForm: true },
        ),
      ),
    ),
    route(
      {
        method: 'POST',
        path: '/sign-out',
        access: access.sameSite,
        tag: 'pages',
        summary: 'Signs out, as POST /api/auth/logout does.',
        body: formBody,
        bodyRaw: true,
        bodyOptional: true,
        bodyBytesMax: FORM_BYTES_MAX,
        answers: PAGES,
      },
      shown(async (call) => {
        const { url } = await signOut(call)
        const further = url
          ? `<p>You may still be signed in at your sign-in provider: <a href="${escapeHtml(url)}">sign out there too</a>.</p>`
          : ''
        return page('You are signed out', `${further}<p><a class="go" href="/sign-in">Sign in again</a></p>`)
      }),
    ),
  ]
}

function cliPages({ access, pool, attempts }: PageOptions): Route[] {
  const signInFirst = (userCode: string) => {
    const back = `/cli-login?${new URLSearchParams({ user_code: userCode })}`
    return redirect(`/sign-in?${new URLSearchParams({ return_to: back })}`)
  }
  return [
    route(
      {
        method: 'GET',
        path: '/cli-login',
        access: open,
        tag: 'pages',
        summary: 'Where a person approves a command line.',
        query: cliPageQuery,
        answers: PAGES,
      },
      shown<CliPageQuery>(async ({ headers, query: { user_code: userCode = '' } }) => {
        const session = await access.find(headers)
        return session ? cliForm(session, userCode) : signInFirst(userCode)
      }),
    ),
    route(
      {
        method: 'POST',
        path: '/cli-login',
        access: attempts.counted(access.sameSite),
        tag: 'pages',
        summary: 'Approves or denies a command line.',
        body: formBody,
        bodyRaw: true,
        bodyBytesMax: FORM_BYTES_MAX,
        answers: PAGES,
      },
      shown<unknown, string>(async ({ caller: address, headers, body, requestId }) => {
        const fields = new URLSearchParams(String(body))
        const [userCode, decision] = [fields.get('user_code') ?? '', fields.get('decision')]
        const session = await access.find(headers)
        if (!session) return signInFirst(userCode)
        const organization = session.organizations.find(({ id }) => id === fields.get('organization'))
        if (!organization) throw new ApiError('FORBIDDEN', 'You do not belong to this organization.')
        const status = decision === 'approve' ? 'approved' : 'denied'
        const id = await findLoginId(pool, userCode)
        if (id === undefined) throw attempts.failed(address, noSuchLogin())
        const { userId } = session
        await transaction(pool, async (sql) => {
          await useOrganization(sql, organization.id)
          const by = { actor: userId, requestId }
          await decideLogin(sql, { organizationId: organization.id, userId }, { id, userCode, status }, by)
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

function cliForm({ organizations, email }: OpenSession, userCode: string): Reply {
  const choices = organizations.map(
    ({ id, name }, at) =>
      `<p><label><input type="radio" name="organization" value="${escapeHtml(id)}"${at === 0 ? ' checked' : ''} required> ${escapeHtml(name)}</label></p>`,
  )
  if (choices.length === 0)
    throw new ApiError('FORBIDDEN', `${email} belongs to no organization. Ask an owner of yours for an invitation.`)
  const body = `<p>A command line asks for an API key in the name of <strong>${escapeHtml(email)}</strong>. Approve it only if you began this
yourself and it shows this very code.</p>
<form method="post" action="/cli-login">
<p><label>Code <input name="user_code" value="${escapeHtml(userCode)}" required autocomplete="off" spellcheck="false"></label></p>
<fieldset><legend>Organization</legend>${choices.join('\n')}</fieldset>
<p><button class="go" name="decision" value="approve">Approve</button> <button name="decision" value="deny">Deny</button></p>
</form>`
  return page('Approve a command line', body, { hasForm: true })
}
