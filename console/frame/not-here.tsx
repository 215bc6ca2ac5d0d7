// Where an address leads nowhere, where a page broke, and where nothing answers at all.

import { type ErrorComponentProps, Link } from '@tanstack/react-router'
import { Head } from '../parts/head.tsx'
import { Trouble } from '../parts/states.tsx'

export function NotHere() {
  return (
    <>
      <Head title="There is nothing here" />
      <section className="card">
        <div className="b empty">
          <p>No page has this address, or it is not built yet. What was here may have been deleted.</p>
          <Link to="/services" className="btn p">
            Services
          </Link>
        </div>
      </section>
    </>
  )
}

export function PageFailed({ error, reset }: ErrorComponentProps) {
  return (
    <>
      <Head title="This page failed" />
      <section className="card">
        <div className="b">
          <Trouble error={error} onRetry={reset} />
        </div>
      </section>
    </>
  )
}

/** Before there is a frame. */
export function NoAnswer({ onRetry }: { onRetry(): void }) {
  return (
    <main className="alone">
      <h1>loci does not answer</h1>
      <p>The page is here and management is not. Nothing was changed.</p>
      <button type="button" className="btn p" onClick={onRetry}>
        Try now
      </button>
    </main>
  )
}
