// The first line of a page: its name, what stands beside it, and what can be done. The window is named after it.

import type { ReactNode } from 'react'

interface HeadProps {
  title: string
  /** The page that leads here, as a link. */
  above?: ReactNode
  /** The title is an id, shown short. */
  shown?: ReactNode
  sub?: ReactNode
  /** Of whom or what, for the title of the window. */
  of?: string | undefined
  children?: ReactNode
}

export function Head({ title, above, shown = title, sub, of, children }: HeadProps) {
  return (
    <div className="head">
      <title>{`${title}${of ? ` · ${of}` : ''} · loci`}</title>
      {above !== undefined && (
        <span className="above">
          {above} <span aria-hidden="true">/</span>
        </span>
      )}
      <h1>{shown}</h1>
      {sub !== undefined && <span className="sub">{sub}</span>}
      {children !== undefined && (
        <>
          <span className="grow" />
          {children}
        </>
      )}
    </div>
  )
}
