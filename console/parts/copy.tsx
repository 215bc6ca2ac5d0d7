// Something to be copied: an id, a receipt, the one line of the command line that does what a page does.

import { useEffect, useState } from 'react'
import { Icon } from './icon.tsx'

export function Copy({ text, label = 'Copy', isLarge = false }: { text: string; label?: string; isLarge?: boolean }) {
  const [isCopied, setCopied] = useState(false)
  useEffect(() => {
    if (!isCopied) return
    const timer = setTimeout(() => setCopied(false), 2_000)
    return () => clearTimeout(timer)
  }, [isCopied])
  return (
    <button
      type="button"
      className={isLarge ? 'btn' : 'btn s'}
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
      {isCopied ? 'Copied' : label}
    </button>
  )
}

/** What the command line says for the same: one on every page. */
export function CommandLine({ children }: { children: string }) {
  return (
    <span className="command">
      <code>{children}</code>
      <Copy text={children} />
    </span>
  )
}
