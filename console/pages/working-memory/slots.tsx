// What is held, one row each: its words, how strongly and by what, since when, by whom.

import type { Slot, SlotList } from '@loci/sdk/daemon.ts'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useMemo, useRef } from 'react'
import type { Records } from '../../api/records.ts'
import { clock, count, counted, score, span } from '../../format.ts'
import { useKeys } from '../../keys/keys.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { raised } from '../../parts/explanation.ts'
import { Icon } from '../../parts/icon.tsx'
import { FULL } from '../../parts/lamp.ts'
import { Lamp } from '../../parts/light.tsx'
import { Said } from '../../parts/said.tsx'
import { Empty } from '../../parts/states.tsx'
import { useNow } from '../../parts/time.tsx'
import { FamilyLegend, Sum } from '../../parts/why.tsx'
import { usePreferences } from '../../preferences.ts'
import { isPut, leavingOrder, listed, type Policy } from './leaving.ts'

interface SlotsProps {
  list: SlotList
  policy: Policy | undefined
  records: Records
  /** The key of the one that is shown beside the list. */
  open: string | undefined
  onPut(): void
}

const route = getRouteApi('/s/$slug/working-memory')

export function Slots({ list, policy = 'activation', records, open, onPut }: SlotsProps) {
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  useWhyKey(table)
  const { slots, capacity, damaged = [] } = list
  if (slots.length + damaged.length === 0)
    return capacity === 0 ? (
      <Empty title="This working memory has no place" command="loci wm config set capacity=12">
        Its capacity is 0, so what is put is refused and cycles hold nothing.
      </Empty>
    ) : (
      <Empty
        title="Nothing is in mind"
        command="loci cycles run --observe 'Ada asks for her parcel'"
        action={
          <button type="button" className="btn p" onClick={onPut}>
            Put something in mind
          </button>
        }
      >
        A cycle brings in what was heard and what it reminds of; what is put stays until something stronger comes.
      </Empty>
    )
  const scale = Math.max(FULL, ...slots.map(({ explain }) => raised(explain.parts)))
  const leaving = policy === 'activation' ? undefined : leavingOrder(slots, policy)
  return (
    <>
      <table className="t wm" ref={table}>
        <thead>
          <tr>
            <th>{leaving ? 'Held, who leaves last first' : 'Held, strongest first'}</th>
            <th>Activation and what it is made of</th>
            {leaving && <th className="num">Leaves</th>}
            <th className="num">Since</th>
            <th className="num">Matched</th>
            <th>Said by</th>
          </tr>
        </thead>
        <tbody>
          {listed(slots, policy).map((slot) => (
            <SlotRow
              key={slot.key}
              slot={slot}
              scale={scale}
              isOpen={slot.key === open}
              place={leaving && leaving.indexOf(slot) + 1}
              record={records.byId.get(slot.recordId ?? '')}
            />
          ))}
          {damaged.map(({ ref, reason }) => (
            <tr key={ref}>
              <td colSpan={leaving ? 6 : 5}>
                <span className="st bad">
                  <Icon name="cross" />
                  damaged
                </span>{' '}
                <span className="id">{ref ?? 'without a name'}</span>{' '}
                <span className="mut2" title={reason}>
                  Its bytes do not fit its digest, so it is not shown. Put it again, or delete it.
                </span>
              </td>
            </tr>
          ))}
          {capacity > slots.length && (
            <tr className="free">
              <td colSpan={leaving ? 6 : 5} className="mut sm">
                {counted(capacity - slots.length, 'place')} free
              </td>
            </tr>
          )}
        </tbody>
      </table>
      <div className="b">
        <FamilyLegend />
      </div>
    </>
  )
}

interface RowProps {
  slot: Slot
  scale: number
  isOpen: boolean
  /** Its number among those that leave; 0: it does not. */
  place: number | undefined
  record: { actor: string | null; dueAt: string | null } | undefined
}

function SlotRow({ slot, scale, isOpen, place, record }: RowProps) {
  const { zone } = usePreferences()
  const now = useNow(30_000)
  const { key, value, activation, explain, pinned, createdAt, accessCount } = slot
  const isDue = explain.parts.some(({ name, contribution }) => name === 'due' && contribution > 0)
  return (
    <tr className={isOpen ? 'on' : undefined}>
      <td>
        <div className="row">
          <Link
            data-row
            className="words"
            to="/s/$slug/working-memory"
            params={(params) => params as { slug: string }}
            search={(search) => ({ ...search, slot: key })}
            aria-current={isOpen || undefined}
            activeProps={{}}
            title={key}
          >
            <Said of={value} line />
          </Link>
          {isDue && (
            <span className="tag warn">
              <Icon name="clock" />
              due {record?.dueAt && clock(record.dueAt, zone, { seconds: false })}
            </span>
          )}
          {pinned && (
            <span className="tag">
              <Icon name="pin" />
              pinned
            </span>
          )}
        </div>
      </td>
      <td>
        <div className="row">
          <span className="grow">
            <Lamp activation={activation} full={scale} />
            <Sum parts={explain.parts} scale={scale} />
          </span>
          <b className="b5 num value">{score(activation)}</b>
        </div>
      </td>
      {place !== undefined && <td className="num mut2">{place === 0 ? 'never' : count(place)}</td>}
      <td className="num mut2 nowrap" title={createdAt}>
        {span(Math.max(0, now - Date.parse(createdAt)))}
      </td>
      <td className="num mut2">{accessCount === 0 ? '–' : count(accessCount)}</td>
      <td className="mut2 by">{record?.actor ? <Said of={record.actor} line /> : isPut(slot) ? 'put' : '–'}</td>
    </tr>
  )
}

/** `w`: why is the one that it is, of the row that has the focus. */
function useWhyKey(table: React.RefObject<HTMLTableElement | null>): void {
  const { slot: open } = route.useSearch()
  useKeys(
    useMemo(
      () => ({
        w: () => {
          const row = document.activeElement?.closest('tr')
          const link = (row && table.current?.contains(row) ? row : table.current)?.querySelector<HTMLElement>(
            '[data-row]',
          )
          if (open === undefined) link?.click()
          else document.getElementById('why')?.focus()
        },
      }),
      [table, open],
    ),
  )
}
