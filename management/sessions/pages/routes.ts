import { ApiError } from '@loci/chassis/api-error.ts'
import { redirect } from '@loci/chassis/pages.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import { formBody, type SignedInQuery, type SignInQuery, signedInQuery, signInQuery } from '@loci/contract/pages.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Attempts } from '../../access/attempts.ts'
import type { SessionAccess } from '../../access/session.ts'
import type { ClientDocuments } from '../../oauth/documents.ts'
import type { GrantUses } from '../../oauth/uses.ts'
import { setSessionCookies } from '../cookies.ts'
import { ProviderRefusal } from '../provider.ts'
import type { SignIn } from '../sign-in.ts'
import { createSignOut, type RevokeIssued } from '../sign-out.ts'
import { cliPages } from './cli.ts'
import { homePages, type MakeOrganization } from './home.ts'
import { oauthPages } from './oauth.ts'
import { escapeHtml, ownPath, page } from './pages.ts'
import { createPendingSignIns } from './pending.ts'
import { FORM_BYTES_MAX, PAGES, shown } from './shown.ts'

interface PageOptions {
  access: SessionAccess
  makeOrganization: MakeOrganization
  revokeIssued: RevokeIssued
  pool: Pool
  sealer: Sealer
  publicUrl: string
  signIn: SignIn | undefined
  attempts: Attempts
  documents: ClientDocuments
  uses: GrantUses
}

/** A sign-in is sealed and may ask the provider for its addresses: an address begins 20 a second, 200 at once. */
const START_UNITS = 10

export function pageRoutes(options: PageOptions): Route[] {
  return [
    ...signInPages(options),
    ...homePages(options),
    ...signOutPages(options),
    ...cliPages(options),
    ...oauthPages(options),
  ]
}

function signInPages({ sealer, publicUrl, signIn, attempts }: PageOptions): Route[] {
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
      {
        ...common,
        method: 'GET',
        path: '/sign-in',
        summary: 'Show the page where a person signs in.',
        query: signInQuery,
      },
      shown<SignInQuery>(async ({ query }) => {
        const { host } = new URL(required().provider.issuer)
        const fresh = query.fresh === 'true' ? { fresh: 'true' } : {}
        const next = new URLSearchParams({ ...fresh, return_to: ownPath(query.return_to) })
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
        access: { ...open, units: START_UNITS },
        method: 'GET',
        path: '/sign-in/start',
        summary: 'Redirect to the sign-in provider.',
        query: signInQuery,
      },
      shown<SignInQuery>(async ({ query, answer, yieldSlot }) => {
        const { provider, scopes } = required()
        yieldSlot()
        const { state, verifier } = pending.begin(answer, ownPath(query.return_to))
        const isFresh = query.fresh === 'true'
        return redirect(await provider.authorizeUrl({ redirectUri, scopes, state, verifier, isFresh }))
      }),
    ),
    route(
      {
        ...common,
        access: attempts.counted(open),
        method: 'GET',
        path: '/signed-in',
        summary: 'Finish a sign-in when the provider sends the browser back.',
        details: 'Leads on at once: its address has the code.',
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
  ]
}

function signOutPages({ access, revokeIssued, publicUrl, signIn }: PageOptions): Route[] {
  const signOut = createSignOut({ access, revokeIssued, publicUrl, signIn })
  return [
    route(
      {
        method: 'GET',
        path: '/sign-out',
        access: open,
        tag: 'pages',
        summary: 'Show the page where a person signs out.',
        answers: PAGES,
      },
      shown(async () =>
        page(
          'Sign out',
          `<p>This ends your session in this browser at once, in every tab.</p>
<form method="post" action="/sign-out">
<p><label><input type="checkbox" name="revoke_issued" value="true"> Also revoke the API keys and command lines that this session made, and the clients that it allowed. Do so if
somebody else may have used it.</label></p>
<p><button class="go">Sign out</button></p>
</form>`,
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
        summary: 'Sign out, as POST /api/auth/logout does.',
        body: formBody,
        bodyRaw: true,
        bodyOptional: true,
        bodyBytesMax: FORM_BYTES_MAX,
        answers: PAGES,
      },
      shown(async (call) => {
        const isRevoking = new URLSearchParams(String(call.body ?? '')).get('revoke_issued') === 'true'
        const { url, issued } = await signOut(call, { isRevoking })
        const revoked = issued
          ? `<p>Revoked with the session: ${issued.apiKeys} API keys, ${issued.cliLogins} approvals of command lines, ${issued.tokens} tokens, ${issued.partnerCredentials} partner credentials, ${issued.invitations} invitations and ${issued.oauthGrants} clients that it allowed.</p>\n`
          : ''
        const further = url
          ? `<p>You may still be signed in at your sign-in provider: <a href="${escapeHtml(url)}">sign out there too</a>.</p>`
          : ''
        return page('You are signed out', `${revoked}${further}<p><a class="go" href="/sign-in">Sign in again</a></p>`)
      }),
    ),
  ]
}
