// What happened last, with why: cycles, what left, what was stored; told together by time.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Card } from '../../parts/card.tsx'
import { Icon, type IconName } from '../../parts/icon.tsx'
import { Said } from '../../parts/said.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Clock } from '../../parts/time.tsx'
import { cyclesQuery, leftQuery, memoriesQuery } from './queries.ts'
import { changesOf } from './words.ts'

interface Happened {
  id: string
  at: string
  icon: IconName
  what: string
  about: ReactNode
  why?: ReactNode
}

const SHOWN = 8

export function Recently() {
  const view = useService()
  const { slug } = view.service
  const cycles = useQuery(cyclesQuery(view))
  const { data: left = [] } = useQuery(leftQuery(view))
  const { data: memories = [] } = useQuery(memoriesQuery(view))
  return (
    <Card
      title="Recently"
      flush
      aside={
        hasPage('events') ? (
          <Link to="/s/$slug/events" params={{ slug }}>
            All events
          </Link>
        ) : undefined
      }
    >
      <Loaded of={cycles} rows={5}>
        {(newest) => {
          const all: Happened[] = [
            ...newest.map(({ id, seq, completedAt, decisions, workingMemory }) => ({
              id,
              at: completedAt,
              icon: 'cycles' as const,
              what: `Cycle ${seq} ended`,
              about: changesOf(decisions, workingMemory.after.slotCount),
              why: hasPage('cycle') ? (
                <Link to="/s/$slug/cycles/$id" params={{ slug, id: String(seq) }} className="why">
                  Why
                </Link>
              ) : undefined,
            })),
            ...left.map(({ key, version, evictedAt, reason }) => ({
              id: `${key}/${version}`,
              at: evictedAt,
              icon: 'down' as const,
              what: 'Slot left',
              about: (
                <>
                  <code>{key}</code> {reason}
                </>
              ),
            })),
            ...memories.map(({ id, createdAt, content }) => ({
              id,
              at: createdAt,
              icon: 'memory' as const,
              what: 'Memory stored',
              about: <Said of={content} line />,
              why: hasPage('record') ? (
                <Link to="/s/$slug/memory/$id" params={{ slug, id }} className="why">
                  Open
                </Link>
              ) : undefined,
            })),
          ]
          const shown = all.toSorted((one, other) => Date.parse(other.at) - Date.parse(one.at)).slice(0, SHOWN)
          if (shown.length === 0)
            return (
              <Empty title="Nothing happened yet" command="loci memory store &quot;Ada prefers replies in Dutch&quot;">
                What is stored, what comes to mind and what leaves it stands here.
              </Empty>
            )
          return (
            <table className="t recent">
              <tbody>
                {shown.map(({ id, at, icon, what, about, why }) => (
                  <tr key={id}>
                    <td className="icon mut">
                      <Icon name={icon} />
                    </td>
                    <td className="at mut2">
                      <Clock at={at} />
                    </td>
                    <td className="what b5">{what}</td>
                    <td className="about mut2">
                      <div className="ell">{about}</div>
                    </td>
                    <td className="num go">{why}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }}
      </Loaded>
    </Card>
  )
}
