// What is asked beside a list, while the list stays in view. The keyboard goes into it when it opens, and back to what
// opened it; Escape closes it.

import { type ReactNode, useEffect, useId, useMemo, useRef } from 'react'
import { useKeys } from '../keys/keys.ts'
import { Icon } from './icon.tsx'

interface PanelProps {
  title: ReactNode
  /** Left out where closing it would lose something. */
  onClose?: (() => void) | undefined
  children: ReactNode
}

export function Panel({ title, onClose, children }: PanelProps) {
  const heading = useRef<HTMLHeadingElement>(null)
  const id = useId()
  const close = useRef(onClose)
  close.current = onClose
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  useKeys(useMemo(() => ({ Escape: () => close.current?.() }), []))
  return (
    <section className="card asked" aria-labelledby={id}>
      <header>
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        {onClose && (
          <span className="r">
            <button type="button" className="btn q s" aria-label="Close" onClick={onClose}>
              <Icon name="cross" />
            </button>
          </span>
        )}
      </header>
      <div className="b grid">{children}</div>
    </section>
  )
}
