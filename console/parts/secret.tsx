// What is shown once: a token, a key, a link. It is in this part of the page and nowhere else; not in the cache, an
// address or a store. Blurred until somebody wants to see it, and leaving without having stored it is asked about.

import { useBlocker } from '@tanstack/react-router'
import { type ReactNode, useRef, useState } from 'react'
import { Copy } from './copy.tsx'
import { Icon } from './icon.tsx'

interface SecretProps {
  /** Each with what it is: "Token". */
  parts: readonly { label: string; text: string }[]
  /** What is to be known about it. */
  children?: ReactNode
  onStored(): void
}

export function Secret({ parts, children, onStored }: SecretProps) {
  const isStored = useRef(false)
  useBlocker({
    shouldBlockFn: () => !isStored.current && !confirm('It is shown once. Leave without having stored it?'),
    enableBeforeUnload: () => !isStored.current,
  })
  return (
    <div className="grid once">
      <div className="note ok" role="status">
        <Icon name="lock" />
        <div>
          <b>Shown once</b>
          <p className="sm">Store it now: nobody can show it again.</p>
        </div>
      </div>
      {parts.map(({ label, text }) => (
        <Blurred key={label} label={label} text={text} />
      ))}
      {children}
      <div className="row">
        <button
          type="button"
          className="btn p"
          onClick={() => {
            isStored.current = true
            onStored()
          }}
        >
          I stored it
        </button>
      </div>
    </div>
  )
}

function Blurred({ label, text }: { label: string; text: string }) {
  const [isShown, show] = useState(false)
  return (
    <div className="field">
      <span className="label row">
        {label}
        <span className="grow" />
        <Copy text={text} />
      </span>
      {/* What is not shown is not in the page either, where an extension or a shared screen would have it. */}
      <button type="button" className="shown-once" aria-pressed={isShown} onClick={() => show(!isShown)}>
        {isShown ? (
          <code>{text}</code>
        ) : (
          <>
            <code className="blurred" aria-hidden="true">
              {'loci_0123456789abcdefghijklmnopqrstuvwxyz '.repeat(3)}
            </code>
            <span className="sm">Show the {label.toLowerCase()}</span>
          </>
        )}
      </button>
    </div>
  )
}
