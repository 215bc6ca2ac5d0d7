// Whatever an agent, a customer or a partner said. It is text and nothing else, whatever it looks like: React writes it
// as text, its direction is its own, and it is set in the serif that nothing of ours is set in.

import { useState } from 'react'
import { bytes } from '../format.ts'

/** More than anybody reads at once: the rest is a click away, and a megabyte of it does not hold the page. */
const CHARACTERS_MAX = 2_000

interface SaidProps {
  /** Text, or any other JSON value. */
  of: unknown
  /** On one line, cut at its end. */
  line?: boolean
  /** The size of a subject: 20 px. */
  large?: boolean
}

export function Said({ of, line = false, large = false }: SaidProps) {
  const [isWhole, setWhole] = useState(false)
  const text = typeof of === 'string' ? of : JSON.stringify(of, null, line ? undefined : 2)
  if (text === undefined) return <span className="mut">nothing</span>
  const isCut = !isWhole && text.length > CHARACTERS_MAX
  const shown = isCut ? text.slice(0, CHARACTERS_MAX).toWellFormed() : text
  return (
    <bdi className={`mind${line ? ' ell' : ' said'}${large ? ' large' : ''}`} dir="auto">
      {shown}
      {isCut && (
        <>
          …{' '}
          {!line && (
            <button type="button" className="btn s" onClick={() => setWhole(true)}>
              Show all, {bytes(new TextEncoder().encode(text).length)}
            </button>
          )}
        </>
      )}
    </bdi>
  )
}
