// The ledger of a cycle: what it decided about whom, on one scale, with the bar of the focus drawn through it. A row
// opens to the table of its parts.

import { type CSSProperties, Fragment, type ReactNode, useMemo, useRef, useState } from 'react'
import type { Records } from '../api/records.ts'
import { score, shortNumbers, weight } from '../format.ts'
import { useKeys } from '../keys/keys.ts'
import { useRowKeys } from '../keys/rows.ts'
import { because, decidedOf } from './decided.ts'
import { Icon } from './icon.tsx'
import { type Decision, inLedger, kindOf, recordIdOf, scaleOf, shortOf, type Threshold } from './ledger.ts'
import { Said } from './said.tsx'
import { Sum, Why } from './why.tsx'

export interface LedgerDecision extends Decision {
  reason: string
  rule: string
}

interface LedgerProps {
  decisions: readonly LedgerDecision[]
  threshold: Threshold | null
  records: Records
  kind?: 'came' | 'stayed' | 'left' | 'other' | undefined
  /** Words of what has no memory yet, by the id that it would get. */
  unstored?: ReadonlyMap<string, string> | undefined
  /** A link to the memory of a row, in its table of parts. */
  linkTo?(recordId: string): ReactNode
}

export function Ledger({ decisions, threshold, records, kind, unstored, linkTo }: LedgerProps) {
  const table = useRef<HTMLTableElement>(null)
  const [open, setOpen] = useState<number>()
  useRowKeys(table)
  useKeys(useMemo(() => ({ w: () => focusedRow(table.current)?.click() }), []))
  const scale = scaleOf(decisions, threshold)
  return (
    <table className="t dl" ref={table}>
      <colgroup>
        <col className="decided" />
        <col />
        <col className="made-of" />
        <col className="score" />
        <col className="because" />
      </colgroup>
      <thead className="sr">
        <tr>
          <th>Decided</th>
          <th>About</th>
          <th>What its score is made of</th>
          <th>Score</th>
          <th>Because</th>
        </tr>
      </thead>
      <tbody>
        {inLedger(decisions, kind).map((decision) => {
          const { seq, action, parts, score: value, rule } = decision
          const { word, icon } = decidedOf(action)
          const isOpen = open === seq
          const id = recordIdOf(decision)
          return (
            <Fragment key={seq}>
              <tr className={`k-${kindOf(decision)}${isOpen ? ' on' : ''}`}>
                <td>
                  <span className="ac" title={`${action}, ${rule}`}>
                    <Icon name={icon} />
                    {word}
                  </span>
                </td>
                <td>
                  <Words decision={decision} records={records} unstored={unstored} />
                </td>
                <td>
                  {parts.length > 0 && (
                    <span className="through">
                      <Sum parts={parts} scale={scale} />
                      {threshold && <i style={{ '--at': `${(threshold.bar / scale) * 100}%` } as CSSProperties} />}
                    </span>
                  )}
                </td>
                <td className="num">
                  {parts.length > 0 && (
                    <button
                      type="button"
                      data-row
                      className="b5 value"
                      aria-expanded={isOpen}
                      aria-label={`Why ${score(value)}`}
                      onClick={() => setOpen(isOpen ? undefined : seq)}
                    >
                      {score(value)}
                    </button>
                  )}
                </td>
                <td className="sm mut2">
                  <Because decision={decision} threshold={threshold} />
                </td>
              </tr>
              {isOpen && (
                <tr className="open">
                  <td />
                  <td colSpan={4}>
                    <Why score={value} parts={parts} />
                    {id !== undefined && linkTo?.(id)}
                  </td>
                </tr>
              )}
            </Fragment>
          )
        })}
      </tbody>
    </table>
  )
}

function Words({
  decision,
  records,
  unstored,
}: { decision: LedgerDecision } & Pick<LedgerProps, 'unstored'> & { records: Records }) {
  const id = recordIdOf(decision)
  const name = decision.subject.key ?? id
  const record = id === undefined ? undefined : records.byId.get(id)
  if (record)
    return (
      <span title={name}>
        <Said of={record.content} line />
      </span>
    )
  const said = id === undefined ? undefined : unstored?.get(id)
  if (said !== undefined) return <Said of={said} line />
  if (id !== undefined && records.missing.has(id) && unstored === undefined)
    return <span className="redacted" role="img" aria-label="erased" title={name} />
  if (id !== undefined && records.damaged.has(id))
    return (
      <span className="st bad" title={name}>
        <Icon name="cross" />
        damaged
      </span>
    )
  return <span className="id">{name}</span>
}

function Because({ decision, threshold }: { decision: LedgerDecision; threshold: Threshold | null }) {
  const short = shortOf(decision, threshold)
  const { reasonCode, reason } = decision
  return (
    <span title={`${reasonCode}: ${reason}`}>
      {short === null ? (because(reasonCode) ?? shortNumbers(reason)) : `${score(short)} short of the bar`}
    </span>
  )
}

/** Of the row that has the focus, else of the first. */
function focusedRow(table: HTMLTableElement | null): HTMLElement | null {
  const row = document.activeElement?.closest('tr')
  return (row && table?.contains(row) ? row : table)?.querySelector<HTMLElement>('[data-row]') ?? null
}

/** What the line through the ledger is. */
export function BarLegend({ threshold: { best, bar } }: { threshold: Threshold }) {
  return (
    <span className="bar-legend sm">
      <i />
      bar {score(bar)} = best {score(best)} without stickiness − {weight(best - bar)}
    </span>
  )
}
