// Who is signed in, and what happens when that ends.

import type { SessionShown } from '@loci/sdk/management.ts'
import { useSyncExternalStore } from 'react'
import { refreshed } from './refresh.ts'

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
