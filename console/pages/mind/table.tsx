// Every stay of the window as a row: what the picture shows, in words and numbers.

import { useState } from 'react'
import { clock, count, score } from '../../format.ts'
import { LeftTag } from '../../parts/left.tsx'
import { usePreferences } from '../../preferences.ts'
import { Words } from './bars.tsx'
import { cameOf } from './came.ts'
import type { Span } from './scale.ts'
import type { Stay } from './timeline.ts'

/** More are a click away: a table of ten thousand rows holds no page. */
const ROWS = 200

export function StaysTable({
  stays,
  window,
  onLook,
}: {
  stays: readonly Stay[]
  window: Span
  onLook(at: number, key: string): void
}) {
  const { zone } = usePreferences()
  const [shown, setShown] = useState(ROWS)
  const there = stays.filter(({ from, to }) => from < window.to && (to === null || to >= window.from))
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard
    <section className="scroll tall" tabIndex={0} aria-label="Stays as a table">
      <table className="t stays">
        <thead>
          <tr>
            <th>Held</th>
            <th>Came</th>
            <th>Left</th>
            <th className="num">First</th>
            <th className="num">Last</th>
            <th className="num">Cycles</th>
          </tr>
        </thead>
        <tbody>
          {there.slice(0, shown).map((stay) => (
            <tr key={stay.id}>
              <td>
                <button
                  type="button"
                  className="words"
                  onClick={() => onLook(Math.max(stay.from, window.from), stay.key)}
                  title={stay.key}
                >
                  <Words stay={stay} />
                </button>
              </td>
              <td className="tn nowrap">
                {clock(new Date(stay.from), zone)} <span className="mut">{cameOf(stay)}</span>
              </td>
              <td className="tn nowrap">
                {stay.left && stay.to !== null ? (
                  <>
                    {clock(new Date(stay.to), zone)} <LeftTag code={stay.left.reasonCode} />
                  </>
                ) : (
                  <span className="mut">{stay.to === null ? 'still held' : 'not known'}</span>
                )}
              </td>
              <td className="num">{score(stay.light[0]?.score)}</td>
              <td className="num">{score(stay.light.at(-1)?.score)}</td>
              <td className="num">{count(stay.light.filter(({ seq }) => seq !== null).length)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {there.length > shown && (
        <div className="b">
          <button type="button" className="btn s" onClick={() => setShown(shown + ROWS)}>
            {count(there.length - shown)} more
          </button>
        </div>
      )}
    </section>
  )
}
