// The ranked tools: the share of each and what it is made of, where its chance of success lies, how it does of late. A
// row opens to the numbers that decided, that they add up, and the outcomes behind them.

import type { RankedTool } from '@loci/sdk/daemon.ts'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type CSSProperties, Fragment, useMemo, useRef } from 'react'
import { count, percent, score as shown } from '../../format.ts'
import { useKeys } from '../../keys/keys.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { Status } from '../../parts/status.tsx'
import { axisFrom, factorsOf, healthOf, isIntervalKnown, placed, productText, shareText, UNWELL } from './parts.ts'
import { Reasons } from './reasons.tsx'

const route = getRouteApi('/s/$slug/advice')

export function Ranked({ tools }: { tools: readonly RankedTool[] }) {
  const { tool: open } = route.useSearch()
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  useKeys(
    useMemo(
      () => ({
        w: () => {
          const row = document.activeElement?.closest('tr')
          const at = row && table.current?.contains(row) ? row : table.current
          at?.querySelector<HTMLElement>('[data-row]')?.click()
        },
      }),
      [],
    ),
  )
  const from = axisFrom(tools)
  return (
    <table className="t ranked" ref={table}>
      <thead>
        <tr>
          <th className="rank">
            <span className="sr">Rank</span>
          </th>
          <th>Tool</th>
          <th className="score">Score</th>
          <th className="works">
            <span className="axis">
              <span>Works, from {percent(from)}</span>
              <span className="xs" aria-hidden="true">
                {percent(from + (1 - from) / 2)}
              </span>
              <span className="xs" aria-hidden="true">
                100 %
              </span>
            </span>
          </th>
          <th className="num health">Health</th>
        </tr>
      </thead>
      <tbody>
        {tools.map((tool) => (
          <Fragment key={tool.toolId}>
            <Row tool={tool} from={from} isOpen={tool.toolId === open} />
            {tool.toolId === open && (
              <tr className="open">
                <td colSpan={5}>
                  <Reasons tool={tool} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  )
}

function Row({ tool, from, isOpen }: { tool: RankedTool; from: number; isOpen: boolean }) {
  const { toolId, rank, score, reasons, stats, coldStart } = tool
  const share = Math.exp(score)
  const health = healthOf(tool)
  return (
    <tr className={isOpen ? 'on' : undefined}>
      <td className="mut b5 rank">{rank}</td>
      <td>
        <Link
          data-row
          className="name"
          from="/s/$slug/advice"
          to="."
          search={(now) => ({ ...now, tool: isOpen ? undefined : toolId })}
          resetScroll={false}
          activeProps={{}}
          aria-expanded={isOpen}
        >
          <b className="b5 code">{toolId}</b>
        </Link>
        <div className="sm mut2 ell" title={reasons.join(' ')}>
          {reasons.join(' ')}
        </div>
      </td>
      <td>
        <div className="row">
          <span className="track" style={{ '--part': `${Math.max(0.5, share * 100)}%` } as CSSProperties}>
            <i />
          </span>
          <b className="b5 tn share" title={`ln ${shown(score, { full: true })}`}>
            {shareText(share)}
          </b>
        </div>
        <span className="xs mut tn">{productText(factorsOf(tool))}</span>
      </td>
      <td>
        <Interval tool={tool} from={from} />
        <span className="xs mut tn">
          {coldStart ? 'no outcome in this class' : `${count(stats.successes)} of ${count(stats.attempts)} succeeded`}
          {!isIntervalKnown(tool) && ' · interval unknown'}
        </span>
      </td>
      <td className="num">
        {health === undefined ? (
          '–'
        ) : health < UNWELL ? (
          <Status tone="warn" icon="warning">
            {shown(health)}
          </Status>
        ) : (
          <span className="tn">{shown(health)}</span>
        )}
      </td>
    </tr>
  )
}

function Interval({ tool, from }: { tool: RankedTool; from: number }) {
  const { left, right, at } = placed(tool, from)
  const { lower95, upper95 } = tool.confidence
  const isKnown = isIntervalKnown(tool)
  const label = isKnown
    ? `Its chance of success lies between ${percent(lower95)} and ${percent(upper95)}`
    : 'Its chance of success is not known'
  const place = { '--left': `${left * 100}%`, '--right': `${right * 100}%`, '--at': `${at * 100}%` }
  return (
    <span
      className={`interval${isKnown ? '' : ' unknown'}`}
      role="img"
      aria-label={label}
      title={label}
      style={place as CSSProperties}
    >
      <i />
      <b />
    </span>
  )
}
