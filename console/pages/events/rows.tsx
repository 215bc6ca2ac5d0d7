// The rows of the tail: when, which number, what, where, about what. Names and numbers; no event has content.

import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode, useMemo, useRef } from 'react'
import { clock, count, shortId } from '../../format.ts'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { useKeys } from '../../keys/keys.ts'
import { useRowKeys } from '../../keys/rows.ts'
import type { Happened } from '../../live/messages.ts'
import { hasPage } from '../../pages.ts'
import { leftOf } from '../../parts/decided.ts'
import { Icon } from '../../parts/icon.tsx'
import { usePreferences } from '../../preferences.ts'
import type { CycleCounts } from './queries.ts'
import type { Row } from './tail.ts'

interface RowsProps {
  rows: readonly Row[]
  gaps: readonly number[]
  slug: string
  cycles: CycleCounts | undefined
}

export function Rows({ rows, gaps, slug, cycles }: RowsProps) {
  const table = useRef<HTMLTableElement>(null)
  const { zone } = usePreferences()
  const { at } = useService()
  useRowKeys(table)
  useCopyKey(table)
  return (
    <table className="t tail" ref={table}>
      <thead>
        <tr>
          <th className="at">Time</th>
          <th className="num seq">Seq</th>
          <th className="what">What</th>
          <th className="where">Where</th>
          <th className="subject">Subject</th>
          <th>Detail</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ place, event }, index) => {
          const { type, seq, at: when, domain, database } = event
          const gap = gaps.find((one) => one < place && one >= (rows[index + 1]?.place ?? Number.NEGATIVE_INFINITY))
          const isElsewhere = database !== undefined && database !== at.database
          return (
            <Fragment key={place}>
              <tr>
                <td className="tn mut2 nowrap" title={when}>
                  {clock(when, zone)}
                  <span className="mut">{when?.slice(19, 23)}</span>
                </td>
                <td className="num mut seq">{seq > 0 ? count(seq) : '–'}</td>
                <td>
                  <span className="row kind">
                    <i data-kind={kindOf(type)} />
                    <span className="code">{type}</span>
                  </span>
                </td>
                <td className="mut2 where">
                  <span className="ell">
                    {domain ?? 'cell'}
                    {isElsewhere && (
                      <>
                        {' · '}
                        <code>{database}</code>
                      </>
                    )}
                  </span>
                </td>
                <td className="subject">
                  <span className="ell">
                    <Subject event={event} slug={slug} />
                  </span>
                </td>
                <td className="mut2 detail">
                  <span className="ell">{detailOf(event, cycles)}</span>
                </td>
              </tr>
              {gap !== undefined && (
                <tr className="gap">
                  <td colSpan={6}>
                    <Icon name="warning" /> What happened before change {count(gap)} is older than 24 h and was missed.
                    What the pages show was read again.
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

function kindOf(type: string): string {
  if (type === 'slot.written') return 'in'
  if (type === 'slot.evicted' || type === 'slot.deleted' || type === 'memory.erased' || type === 'database.deleted')
    return 'out'
  const [beginning] = type.split('.')
  return beginning === 'cycle' || beginning === 'memory' ? beginning : 'other'
}

function Subject({ event: { type, data, database }, slug }: { event: Happened; slug: string }): ReactNode {
  const search = { db: database === DEFAULT_DATABASE ? undefined : database }
  const { id, key, seq, service } = data as Readonly<Record<string, unknown>>
  if (type.startsWith('cycle.') && typeof seq === 'number')
    return hasPage('cycle') ? (
      <Link data-row data-id={id} to="/s/$slug/cycles/$id" params={{ slug, id: String(seq) }} search={search}>
        cycle {count(seq)}
      </Link>
    ) : (
      <span title={String(id)}>cycle {count(seq)}</span>
    )
  if (type === 'memory.erased') return <span className="id">{shortId(String(id))}</span>
  if (typeof id === 'string' && id.startsWith('mem_'))
    return (
      <Link
        data-row
        data-id={id}
        className="id"
        title={id}
        to="/s/$slug/memory/$id"
        params={{ slug, id }}
        search={search}
      >
        {shortId(id)}
      </Link>
    )
  if (type === 'slot.written' && typeof key === 'string')
    return (
      <Link
        data-row
        data-id={key}
        className="code"
        title={key}
        to="/s/$slug/working-memory"
        params={{ slug }}
        search={{ ...search, slot: key }}
      >
        {shortKey(key)}
      </Link>
    )
  const name = key ?? service ?? id ?? database
  return typeof name === 'string' ? <code title={name}>{shortKey(name)}</code> : <span className="mut">–</span>
}

function detailOf({ type, data }: Happened, cycles: CycleCounts | undefined): ReactNode {
  const { id, version, reasonCode, displacedBy, supersededBy, enabled } = data as Readonly<Record<string, unknown>>
  if (type === 'slot.evicted' && typeof reasonCode === 'string')
    return (
      <span title={reasonCode}>
        {leftOf(reasonCode).word}
        {typeof displacedBy === 'string' && (
          <>
            {' by '}
            <code title={displacedBy}>{shortKey(displacedBy)}</code>
          </>
        )}
      </span>
    )
  const counts = type === 'cycle.completed' ? cycles?.get(String(id)) : undefined
  if (counts) return `${counts.admitted} came, ${counts.evicted} left`
  if (typeof supersededBy === 'string') return `by ${shortId(supersededBy)}`
  if (typeof enabled === 'boolean') return enabled ? 'enabled' : 'disabled'
  return typeof version === 'number' ? `version ${count(version)}` : null
}

function shortKey(key: string): string {
  return key.startsWith('mem_') ? shortId(key) : key
}

/** `y`: the id of the row that has the focus. */
function useCopyKey(table: React.RefObject<HTMLTableElement | null>): void {
  useKeys(
    useMemo(
      () => ({
        y: () => {
          const row = document.activeElement?.closest('tr')
          const id =
            row && table.current?.contains(row) ? row.querySelector('[data-id]')?.getAttribute('data-id') : null
          if (id) void navigator.clipboard.writeText(id)
        },
      }),
      [table],
    ),
  )
}
