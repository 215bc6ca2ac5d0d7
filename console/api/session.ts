// Who is signed in, and what happens when that ends. A session lasts longer than its access token, so a 401 is first
// answered by asking for a new one; all calls that meet it at once share that.

import type { SessionShown } from '@loci/sdk/management.ts'
import { useSyncExternalStore } from 'react'

export type Session = SessionShown

/** Undefined: nobody is signed in here. Throws where that could not be found out. */
export async function readSession(): Promise<Session | undefined> {
  const read = () => fetch('/api/auth/session', { headers: { accept: 'application/json' } })
  let answer = await read()
  if (answer.status === 401 && (await refreshed())) answer = await read()
  if (answer.status === 401) return undefined
  if (!answer.ok) throw new Error(`the session could not be read: ${answer.status}`)
  return (await answer.json()) as Session
}

let refreshing: Promise<boolean> | undefined

/** Whether there is a session again. */
export function refreshed(): Promise<boolean> {
  refreshing ??= fetch('/api/auth/refresh', { method: 'POST' })
    .then(({ ok }) => ok)
    .catch(() => false)
    .finally(() => {
      refreshing = undefined
    })
  return refreshing
}

/** After this the page leads on to sign-in and back here, with all that its address says. */
export function signIn(): void {
  const here = `${location.pathname}${location.search}`
  location.assign(`/sign-in?${new URLSearchParams({ return_to: here })}`)
}

// A session that ended while somebody reads or types: the page stays as it is and says so, and nothing typed is lost.
let isOver = false
const listeners = new Set<() => void>()

export function sessionEnded(ended = true): void {
  if (isOver === ended) return
  isOver = ended
  for (const listener of listeners) listener()
}

export function useSessionOver(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isOver,
  )
}
