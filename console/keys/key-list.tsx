import { useEffect, useRef } from 'react'

/** What CONSOLE calls the same everywhere. */
const KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'find or run'],
  ['g s', 'services'],
  ['g o', 'overview'],
  ['g m', 'mind'],
  ['g w', 'working memory'],
  ['g r', 'memory'],
  ['g c', 'cycles'],
  ['g a', 'advice'],
  ['g e', 'events'],
  ['g t', 'tokens'],
  ['j k', 'next, previous row'],
  ['↵', 'open'],
  ['w', 'why'],
  ['/', 'filter'],
  ['← →', 'step a cycle'],
  ['space', 'play, hold'],
  ['n', 'now'],
  ['t', 'as table'],
  ['y', 'copy id'],
  ['Esc', 'close'],
  ['?', 'all keys'],
]

export function KeyList({ onClose }: { onClose(): void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby="keys" onClose={onClose}>
      <h2 id="keys">Keys</h2>
      <div className="keys">
        {KEYS.map(([key, meaning]) => (
          <span key={key}>
            <kbd>{key}</kbd>
            {meaning}
          </span>
        ))}
      </div>
      <form method="dialog">
        <button type="submit" className="btn s">
          Close
        </button>
      </form>
    </dialog>
  )
}
