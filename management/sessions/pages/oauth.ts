// Where a person allows a client of OAuth to use a service: who asks, where the answer goes, which service, databases
// and rights. Nothing is allowed by a link: the form holds the request sealed for this session, and no other site can
// send it.

import { ApiError } from '@loci/chassis/api-error.ts'
import { redirect } from '@loci/chassis/pages.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Reply, type Route, route } from '@loci/chassis/route.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import { type AuthorizeQuery, authorizeQuery } from '@loci/contract/oauth.ts'
import type { Operation } from '@loci/contract/operations.ts'
import { formBody } from '@loci/contract/pages.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Attempts } from '../../access/attempts.ts'
import { isFreshSignIn } from '../../access/own.ts'
import type { OpenSession, SessionAccess } from '../../access/session.ts'
import { type Choice, databasesOf, listChoices } from '../../oauth/choices.ts'
import type { ClientDocuments } from '../../oauth/documents.ts'
import { allow } from '../../oauth/grants.ts'
import {
  answerUrl,
  askedOf,
  findRequestingClient,
  type GrantRequest,
  requestOf,
  requireRedirectUri,
} from '../../oauth/requests.ts'
import type { GrantUses } from '../../oauth/uses.ts'
import { escapeHtml, OWN_PATH_MAX, page } from './pages.ts'
import { PAGES, shown } from './shown.ts'

interface OauthPageOptions {
  access: SessionAccess
  pool: Pool
  sealer: Sealer
  publicUrl: string
  attempts: Attempts
  documents: ClientDocuments
  uses: GrantUses
}

const PATH = '/oauth/authorize'
const FORM_BYTES_MAX = 16 * 1024
const LIFE_MS = 10 * 60_000
/** It may fetch the client's document: an address begins 20 a second. */
const UNITS = 10

const RIGHTS: Record<Exclude<Operation, 'operator'>, string> = {
  'memory:read': 'recall memories',
  'memory:write': 'store memories',
  'memory:delete': 'erase memories for good',
  'wm:read': 'see what is in mind',
  'wm:write': 'put things in mind',
  'wm:delete': 'remove things from mind',
  'cycles:run': 'run cycles',
  'cycles:read': 'read cycles',
  'advice:read': 'ask which tool to take',
  'advice:write': 'report how tools did',
  'kv:read': 'read keys',
  'kv:write': 'write keys',
  'kv:delete': 'delete keys',
  'events:read': 'follow events',
  'system:read': 'read version and state',
}

export function oauthPages({ access, pool, sealer, publicUrl, attempts, documents, uses }: OauthPageOptions): Route[] {
  const sealed = createSealedRequests(sealer)
  return [
    route(
      {
        method: 'GET',
        path: PATH,
        access: { ...open, units: UNITS },
        tag: 'oauth',
        summary: 'Show the page where a person allows a client to use a service.',
        details: 'After a sign-in of the last 10 minutes.',
        query: authorizeQuery,
        ignoresUnknownNames: true,
        answers: PAGES,
      },
      shown<AuthorizeQuery>(async ({ query, headers, yieldSlot }) => {
        yieldSlot()
        const session = await access.find(headers)
        const client = await findRequestingClient(pool, documents, query, session)
        const here = `${PATH}?${new URLSearchParams(JSON.parse(JSON.stringify(query)))}`
        if (here.length > OWN_PATH_MAX)
          throw new ApiError('VALIDATION_ERROR', `The request is longer than ${OWN_PATH_MAX} characters.`)
        const toSignIn = () => redirect(`/sign-in?${new URLSearchParams({ return_to: here })}`)
        if (!client) return toSignIn()
        const redirectUri = requireRedirectUri(client, query)
        const request = requestOf(client, redirectUri, query)
        if ('error' in request) {
          const { error, description } = request
          // Anybody can write a document, or have an organization with clients, and would have a link of ours that
          // leads anywhere at once. Only who belongs to the client's organization is led without a decision.
          if (!session?.organizations.some(({ id }) => id === client.organizationId))
            throw new ApiError('VALIDATION_ERROR', description)
          const told = { error, error_description: description }
          return redirect(answerUrl({ redirectUri, state: query.state }, publicUrl, told))
        }
        if (!session) return toSignIn()
        if (!isFreshSignIn(session)) return signInAgain(session, here)
        const choices = await listChoices(pool, session, request)
        return consentForm(session, request, choices, sealed.seal(session, request))
      }),
    ),
    route(
      {
        method: 'POST',
        path: PATH,
        access: attempts.counted(access.sameSite),
        tag: 'oauth',
        summary: 'Allow or deny a client, as the person chose, and lead back to it.',
        body: formBody,
        bodyRaw: true,
        bodyBytesMax: FORM_BYTES_MAX,
        answers: PAGES,
      },
      shown<unknown, string>(async ({ caller: address, headers, body, requestId, answer }) => {
        const fields = new URLSearchParams(String(body))
        const session = await access.find(headers)
        if (!session) return redirect('/sign-in')
        const request = sealed.open(session, fields.get('request') ?? '')
        if (!request) {
          const refusal = new ApiError(
            'FORBIDDEN',
            'This form is not of your session, or too old. Begin again in the client.',
          )
          throw attempts.failed(address, refusal)
        }
        if (fields.get('decision') !== 'allow') {
          const told = { error: 'access_denied', error_description: 'The person denied it.' }
          return redirect(answerUrl(request, publicUrl, told))
        }
        if (!isFreshSignIn(session))
          throw new ApiError('FORBIDDEN', 'You signed in more than 10 minutes ago. Begin again in the client.')
        const [organizationId = '', serviceId = ''] = (fields.get('service') ?? '').split('/')
        const databases = databasesOf(fields.get('all') === 'true', fields.get('databases') ?? '')
        await uses.takeAllow(session, organizationId, answer)
        const { userId, id: sessionId } = session
        const allowed = { organizationId, serviceId, ops: fields.getAll('ops'), databases }
        const code = await allow(pool, { userId, sessionId }, request, allowed, { actor: userId, requestId })
        return redirect(answerUrl(request, publicUrl, { code }))
      }),
    ),
  ]
}

/** What the person was shown is what is allowed: nothing of the request comes back from the browser unsealed. */
function createSealedRequests(sealer: Sealer) {
  const contextOf = ({ id }: OpenSession) => `oauth request of ${id}`
  return {
    seal(session: OpenSession, request: GrantRequest): string {
      const text = JSON.stringify({ request, until: Date.now() + LIFE_MS })
      const { sealed, sealedWith } = sealer.seal(text, contextOf(session))
      return `${sealedWith}.${sealed}`
    },
    open(session: OpenSession, text: string): GrantRequest | undefined {
      const [sealedWith = '', sealed = ''] = text.split('.')
      try {
        const { request, until } = JSON.parse(sealer.open(sealed, sealedWith, contextOf(session)))
        return until > Date.now() ? request : undefined
      } catch {
        // Not of our making, or of another session.
        return undefined
      }
    },
  }
}

function consentForm(session: OpenSession, request: GrantRequest, all: Choice[], sealedRequest: string): Reply {
  const asked = askedOf(request)
  // A service that has none of what is asked for, such as one of keys alone, is no choice.
  const choices = all.filter(({ ops }) => ops.some((op) => asked.includes(op)))
  const to = new URL(request.redirectUri)
  const name = escapeHtml(request.clientName)
  if (choices.length === 0)
    return page(
      'No service to allow',
      `<p><strong>${name}</strong> asks for <code>${escapeHtml(request.resource)}</code>. <strong>${escapeHtml(session.email)}</strong> has no service
there that can be used.</p>`,
    )
  // None is chosen yet, so Allow takes two acts: a page that puts the button under the second click of a double click,
  // as other sites can with windows, allows nothing.
  const services = choices.map(
    ({ organizationId, organizationName, serviceId, serviceName, role }) =>
      `<p><label><input type="radio" name="service" value="${organizationId}/${serviceId}" required> ${escapeHtml(serviceName)}, ${escapeHtml(organizationName)} (${role}) <code>${serviceId}</code></label></p>`,
  )
  const offered = new Set(choices.flatMap(({ ops }) => ops))
  const rights = (Object.entries(RIGHTS) as [Exclude<Operation, 'operator'>, string][])
    .filter(([op]) => offered.has(op) && asked.includes(op))
    .map(
      ([op, words]) =>
        `<p><label><input type="checkbox" name="ops" value="${op}" checked> ${escapeHtml(words)} <code>${op}</code></label></p>`,
    )
  const isLocal = to.protocol === 'http:'
  const body = `<p><strong>${name}</strong> asks to use a service in the name of <strong>${escapeHtml(session.email)}</strong>. It calls itself
<code>${escapeHtml(request.clientId)}</code> and is answered at <strong>${escapeHtml(isLocal ? 'this computer' : to.host)}</strong>${isLocal ? ': any program on it could be asking' : ''}.
Allow it only if you began this yourself, in that program.</p>
<form method="post" action="${PATH}">
<input type="hidden" name="request" value="${escapeHtml(sealedRequest)}">
<fieldset><legend>Service</legend>${services.join('\n')}</fieldset>
<fieldset><legend>Databases</legend><p><label>Names, separated by blanks <input name="databases" value="default" autocomplete="off" spellcheck="false"></label></p>
<p><label><input type="checkbox" name="all" value="true"> All databases of the service</label></p></fieldset>
<fieldset><legend>It may</legend>${rights.join('\n')}</fieldset>
<p>It goes on for 30 days after its last use, 90 at most, and never beyond what you may do yourself. You can end it at any time
(<code>DELETE /api/v1/oauth-grants/{id}</code>).</p>
<p><button class="go" name="decision" value="allow">Allow</button> <button name="decision" value="deny">Deny</button></p>
</form>`
  // A browser holds the redirect that follows a form to this policy too; it knows no names for IPv6 addresses.
  const origin = to.hostname.startsWith('[') ? to.protocol : to.origin
  return page(`Allow ${request.clientName}?`, body, { hasForm: true, formAction: origin })
}

/** Whoever has copied a cookie stops here: the provider asks for the person. */
function signInAgain({ email }: OpenSession, here: string): Reply {
  const start = new URLSearchParams({ fresh: 'true', return_to: here })
  const body = `<p>You signed in as <strong>${escapeHtml(email)}</strong> more than 10 minutes ago. What you allow a client outlives your session, so
sign in again first.</p>
<p><a class="go" href="/sign-in/start?${escapeHtml(String(start))}">Sign in again</a></p>`
  return page('Sign in again', body)
}
