// A session lasts longer than its access token: who is told 401 asks for a new one first. All calls that meet it at
// once share that. Without React, so that the worker of the streams can ask too.

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
