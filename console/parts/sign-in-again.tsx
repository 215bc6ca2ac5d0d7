// What outlives a session needs a sign-in of the last minutes. It is done in another tab, so nothing that was typed in
// this one is lost; whoever comes back goes on with the same request.

import { useEffect, useState } from 'react'
import type { Problem } from '../api/problem.ts'
import { readSession } from '../api/session.ts'
import { Icon } from './icon.tsx'

const SIGN_IN = `/sign-in/start?${new URLSearchParams({ fresh: 'true', return_to: '/signed-in/done' })}`

export function SignInAgain({ problem, onRetry }: { problem: Problem; onRetry?: (() => void) | undefined }) {
  const signedInAt = (problem.details as { signed_in_at?: string } | undefined)?.signed_in_at
  const isBack = useNewSignIn(signedInAt)
  return (
    <div className="trouble">
      <div className={`note ${isBack ? 'ok' : 'warn'}`} role="alert">
        <Icon name={isBack ? 'check' : 'lock'} />
        <div>
          <b>{isBack ? 'You have signed in again' : 'Sign in once more for this'}</b>
          <p className="sm">
            {isBack
              ? 'Go on: it is asked once more, with all that you typed.'
              : 'It goes on working when your session is over, so it needs a sign-in of the last 10 minutes. Nothing was done, and nothing on this page is lost.'}
          </p>
        </div>
      </div>
      <div className="row wrap">
        <a className={`btn s${isBack ? '' : ' p'}`} href={SIGN_IN} target="_blank" rel="noopener">
          Sign in again, in a new tab
        </a>
        {onRetry && (
          <button type="button" className={`btn s${isBack ? ' p' : ''}`} onClick={onRetry}>
            Go on
          </button>
        )}
      </div>
    </div>
  )
}

/** Asked when somebody comes back to this tab: that is when it can have changed. */
function useNewSignIn(before: string | undefined): boolean {
  const [isNew, setNew] = useState(false)
  useEffect(() => {
    const look = async () => {
      const session = await readSession().catch(() => undefined)
      if (session && before !== undefined && session.signed_in_at > before) setNew(true)
    }
    const onBack = () => void (document.visibilityState === 'visible' && look())
    addEventListener('focus', onBack)
    document.addEventListener('visibilitychange', onBack)
    return () => {
      removeEventListener('focus', onBack)
      document.removeEventListener('visibilitychange', onBack)
    }
  }, [before])
  return isNew
}
