// What happened to a memory, in the order in which it happened.

import type { Record as Memory } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { count, shortId } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Said } from '../../parts/said.tsx'
import { Moment } from '../../parts/time.tsx'
import { lifeOf, PASSAGE_ICONS, type Passage } from './parts.ts'
import { holderQuery } from './queries.ts'

export function Passages({ record, now }: { record: Memory; now: number }) {
  return (
    <Card title="Its life">
      <ol className="passages">
        {lifeOf(record, now).map(({ what, at }) => (
          <li key={what}>
            <span className="mk">
              <Icon name={PASSAGE_ICONS[what]} />
            </span>
            <div>
              <div className="row">
                <b className="b5">
                  <Title what={what} record={record} />
                </b>
                <span className="grow" />
                <span className="mut sm">
                  <Moment at={at} />
                </span>
              </div>
              <div className="sm mut2">
                <Detail what={what} record={record} />
              </div>
            </div>
          </li>
        ))}
      </ol>
    </Card>
  )
}

const TITLES: Readonly<Record<Passage['what'], string>> = {
  said: 'Said',
  stored: 'Stored',
  superseded: 'Superseded',
  archived: 'Archived',
  expired: 'Expired',
  expires: 'Will expire',
}

function Title({ what, record: { actor } }: { what: Passage['what']; record: Memory }): ReactNode {
  if (what !== 'said' || actor === null) return TITLES[what]
  return (
    <>
      Said by <Said of={actor} line />
    </>
  )
}

function Detail({ what, record }: { what: Passage['what']; record: Memory }): ReactNode {
  const { contextId, sourceEventId, source, version, digest } = record
  if (what === 'said')
    return (
      <>
        {contextId !== null && (
          <>
            in <Said of={contextId} line /> ·{' '}
          </>
        )}
        {sourceEventId !== null && (
          <>
            source event <Said of={sourceEventId} line /> ·{' '}
          </>
        )}
        trust: {source.trust}
      </>
    )
  if (what === 'stored')
    return (
      <>
        by {source.type} · version {count(version)} · digest{' '}
        <span className="id" title={digest}>
          {digest.slice(0, 8)}…
        </span>
      </>
    )
  if (what === 'superseded') return <Holder record={record} />
  if (what === 'archived') return 'It is not recalled any more, and can still be read.'
  return 'By the time that was given with it.'
}

/** What has its key now. */
function Holder({ record: { key, id } }: { record: Memory }) {
  const view = useService()
  const holder = useQuery(holderQuery(view, key)).data
  if (!holder || holder.id === id) return 'Something newer took its place.'
  return (
    <>
      <Said of={holder.content} line /> has its key now ·{' '}
      <Link
        to="/s/$slug/memory/$id"
        params={{ slug: view.service.slug, id: holder.id }}
        className="id"
        title={holder.id}
      >
        {shortId(holder.id)}
      </Link>
    </>
  )
}
