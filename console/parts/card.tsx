// A panel. No card stands in a card.

import type { ReactNode } from 'react'

interface CardProps {
  title: ReactNode
  /** At the right end of its head. */
  aside?: ReactNode
  /** Where the body is a table or a list that goes to the edges. */
  flush?: boolean
  children: ReactNode
}

export function Card({ title, aside, flush = false, children }: CardProps) {
  return (
    <section className="card">
      <header>
        <h2>{title}</h2>
        {aside !== undefined && <span className="r">{aside}</span>}
      </header>
      {flush ? children : <div className="b">{children}</div>}
    </section>
  )
}
