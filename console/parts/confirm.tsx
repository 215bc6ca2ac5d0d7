// Before something that cannot be taken back: what ends with it, in words, and its name typed where it is everything.

import { type ReactNode, useEffect, useId, useRef, useState } from 'react'

interface ConfirmProps {
  title: string
  /** What it does: "Delete it". */
  action: string
  /** Must be typed. */
  typed?: string | undefined
  isBusy: boolean
  onConfirm(): void
  onClose(): void
  children: ReactNode
}

export function Confirm({ title, action, typed, isBusy, onConfirm, onClose, children }: ConfirmProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const [text, setText] = useState('')
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={heading} onClose={onClose}>
      <h2 id={heading}>{title}</h2>
      {children}
      {typed !== undefined && (
        <label className="field">
          <span className="label">
            Type <code>{typed}</code>
          </span>
          <input className="in" autoComplete="off" value={text} onChange={({ target }) => setText(target.value)} />
        </label>
      )}
      <div className="row">
        <button
          type="button"
          className="btn d"
          disabled={isBusy || (typed !== undefined && text !== typed)}
          onClick={onConfirm}
        >
          {isBusy ? 'Asking…' : action}
        </button>
        <button type="button" className="btn" onClick={() => dialog.current?.close()}>
          Keep it
        </button>
      </div>
    </dialog>
  )
}
