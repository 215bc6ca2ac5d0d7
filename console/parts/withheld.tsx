// It was made by the request whose answer was lost, and shown to nobody. It can't be shown again, so it is ended and
// made anew.

import { useMutation } from '@tanstack/react-query'
import { problemOf } from '../api/problem.ts'
import { shortId } from '../format.ts'
import { Icon } from './icon.tsx'
import { Trouble } from './states.tsx'

interface WithheldProps {
  error: unknown
  /** "token". */
  what: string
  /** Ends the one that nobody saw. */
  end(id: string): Promise<unknown>
  /** Asks for another, with a new Idempotency-Key. */
  onAnew(): void
}

/** Undefined where the error is another one. */
export function withheldId(error: unknown): string | undefined {
  if (!error) return undefined
  const { kind, details } = problemOf(error, { isWrite: true })
  return kind === 'withheld' ? ((details as { id?: string } | undefined)?.id ?? '') : undefined
}

export function Withheld({ error, what, end, onAnew }: WithheldProps) {
  const id = withheldId(error) ?? ''
  const anew = useMutation({
    mutationFn: async () => (id === '' ? undefined : end(id)),
    onSuccess: onAnew,
  })
  return (
    <div className="trouble">
      <div className="note warn" role="alert">
        <Icon name="warning" />
        <div>
          <b>The {what} was made, and nobody has seen it</b>
          <p className="sm">
            The answer with its text was lost, and a {what} is shown once. It is in the list as{' '}
            <span className="id" title={id}>
              {shortId(id)}
            </span>
            ; end it and make another.
          </p>
        </div>
      </div>
      <button type="button" className="btn s p" disabled={anew.isPending} onClick={() => anew.mutate()}>
        End it and make another
      </button>
      {anew.error && <Trouble error={anew.error} isWrite onRetry={() => anew.mutate()} />}
    </div>
  )
}
