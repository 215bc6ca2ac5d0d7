// A question of its own, above the page: opens when it is shown, closes by Escape, its button or `onClose`.

import { type ReactNode, type RefObject, useEffect, useId, useRef } from 'react'
import { Icon } from './icon.tsx'

interface DialogProps {
  title: string
  wide?: boolean
  onClose(): void
  children: ReactNode
}

export function Dialog({ title, wide = false, onClose, children }: DialogProps) {
  const dialog: RefObject<HTMLDialogElement | null> = useRef(null)
  const heading = useId()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className={`dialog${wide ? ' wide' : ''}`} aria-labelledby={heading} onClose={onClose}>
      <div className="row">
        <h2 id={heading}>{title}</h2>
        <span className="grow" />
        <button type="button" className="btn q s" aria-label="Close" onClick={() => dialog.current?.close()}>
          <Icon name="cross" />
        </button>
      </div>
      {children}
    </dialog>
  )
}
