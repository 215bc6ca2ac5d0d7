// What every page has in common: what the documents say of its answers, and that a refusal is a page too.

import { type ApiError, errorHeadersOf, toApiError } from '@loci/chassis/api-error.ts'
import type { Call, Reply } from '@loci/chassis/route.ts'
import { escapeHtml, page } from './pages.ts'

const HTML = { contentType: 'text/html', description: 'A page without scripts.' }
/** A refusal is a page as well; what access refuses is JSON. */
const ELSEWHERE = { contentType: [], description: 'Leads on to another page.' }
const REFUSAL = {
  contentType: ['text/html', 'application/json'],
  description: 'A page for browsers, an error for others.',
}
const REFUSALS = { 400: REFUSAL, 401: REFUSAL, 403: REFUSAL, 404: REFUSAL, 409: REFUSAL, 429: REFUSAL, 503: REFUSAL }
export const PAGES = { 200: HTML, 303: ELSEWHERE, ...REFUSALS }
export const FORM_BYTES_MAX = 4 * 1024

type PageCall<Query, Caller = unknown> = Call<Caller, unknown, Query, unknown>

/** A browser shows a page, not JSON, whatever went wrong; to other clients a refusal is what it is everywhere. */
export function shown<Query = unknown, Caller = unknown>(handle: (call: PageCall<Query, Caller>) => Promise<Reply>) {
  return async (call: PageCall<Query, Caller>): Promise<Reply> => {
    try {
      return await handle(call)
    } catch (error) {
      const refusal = toApiError(error)
      // As it was thrown: of a commit that was not answered the server says that its outcome is unknown.
      if (refusal.status === 500 || !String(call.headers.accept).includes('text/html')) throw error
      call.log.warn(
        { requestId: call.requestId, code: refusal.code, error: refusal.cause ?? refusal },
        'a page was refused',
      )
      return problemPage(refusal, call.requestId)
    }
  }
}

function problemPage(refusal: ApiError, requestId: string): Reply {
  const { status, message } = refusal
  const body = `<p role="alert">${escapeHtml(message)}</p>
<p><a class="go" href="/sign-in">Go to sign-in</a></p>
<p class="q">Request <code>${escapeHtml(requestId)}</code></p>`
  return page('That did not work', body, { status, headers: errorHeadersOf(refusal) })
}
