// The cells: how full each is, how far behind its feed, when it was heard, and what was suspicious.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type CSSProperties, useRef, useState } from 'react'
import { useApi } from '../../api/api.ts'
import { type Cell, cellsQuery } from '../../api/staff.ts'
import { count } from '../../format.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { Icon } from '../../parts/icon.tsx'
import { Staff } from '../../parts/staff.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { Ago, useNow } from '../../parts/time.tsx'
import { CellDetail } from './cell.tsx'
import './cells.css'
import { LatestActs } from './latest-acts.tsx'
import { RegisterCell } from './register.tsx'
import { alarmOf, partOf } from './words.ts'

const route = getRouteApi('/staff/cells')

export function Page() {
  const [isRegistering, register] = useState(false)
  const action = (
    <button type="button" className="btn" onClick={() => register(true)}>
      <Icon name="add" />
      Register a cell
    </button>
  )
  return (
    <Staff page="cells" action={action}>
      <Cells onRegister={() => register(true)} />
      {isRegistering && <RegisterCell onClose={() => register(false)} />}
    </Staff>
  )
}

function Cells({ onRegister }: { onRegister(): void }) {
  const { cell: chosen } = route.useSearch()
  const cells = useQuery(cellsQuery(useApi()))
  const now = useNow(5_000)
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  const picked = cells.data?.items.find(({ id }) => id === chosen) ?? cells.data?.items[0]
  return (
    <>
      <section className="card">
        <Loaded of={cells} rows={3}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty
                title="No cell yet"
                command="loci setup"
                action={
                  <button type="button" className="btn p" onClick={onRegister}>
                    Register a cell
                  </button>
                }
              >
                A cell is a daemon with its PostgreSQL: services live in one. Without any, services wait.
              </Empty>
            ) : (
              <table ref={table} className="t cells">
                <thead>
                  <tr>
                    <th>Cell</th>
                    <th className="hide-s">Region</th>
                    <th>Placed</th>
                    <th className="hide-s">Feed</th>
                    <th>Heard</th>
                    <th>Alarm</th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((cell) => (
                    <Row key={cell.id} cell={cell} now={now} isOn={cell.id === picked?.id} />
                  ))}
                </tbody>
              </table>
            )
          }
        </Loaded>
      </section>
      {picked && (
        <div className="grid of-cell">
          <CellDetail key={picked.id} cell={picked} />
          <LatestActs />
        </div>
      )}
    </>
  )
}

function Row({ cell, now, isOn }: { cell: Cell; now: number; isOn: boolean }) {
  const { id, name, region, placed, capacity, lag, heard_at } = cell
  const { part, isNearlyFull } = partOf(cell)
  const alarm = alarmOf(cell, now)
  return (
    <tr className={isOn ? 'on' : ''}>
      <td>
        <Link
          to="/staff/cells"
          search={{ cell: id }}
          className="name"
          data-row
          aria-current={isOn ? 'true' : undefined}
        >
          {name}
        </Link>
      </td>
      <td className="mut2 hide-s">{region}</td>
      <td>
        <div className="row">
          <span
            className={`meter${isNearlyFull ? ' warn' : ''}`}
            role="img"
            aria-label={`${placed} of ${capacity} placed`}
            style={{ '--part': `${part * 100}%` } as CSSProperties}
          >
            <i />
          </span>
          <span className="sm tn nowrap">
            {count(placed)} of {count(capacity)}
          </span>
        </div>
      </td>
      <td className={`hide-s ${lag > 0 ? '' : 'mut2'}`}>{count(lag)} behind</td>
      <td className="mut2">{heard_at ? <Ago at={heard_at} /> : 'never'}</td>
      <td>
        {alarm ? (
          <Status tone={alarm.tone} icon="warning">
            {alarm.word}
          </Status>
        ) : (
          <span className="mut">none</span>
        )}
      </td>
    </tr>
  )
}
