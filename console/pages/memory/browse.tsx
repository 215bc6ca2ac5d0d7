// All memories, by cursor: without a filter also those that were superseded or archived.

import type { Record as Memory } from '@loci/sdk/daemon.ts'
import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useMemo, useRef } from 'react'
import { count, counted, shortId } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { useRowKeys } from '../../keys/rows.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Said } from '../../parts/said.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Ago, Moment } from '../../parts/time.tsx'
import type { MemorySearch } from '../../search.ts'
import { Narrowing, useChange } from './ask.tsx'
import { Filter } from './filter.tsx'
import { isFiltered, quoted } from './parts.ts'
import { recordsQuery } from './queries.ts'

export function Browse({ search }: { search: MemorySearch }) {
  const view = useService()
  const change = useChange()
  const list = useInfiniteQuery(recordsQuery(view, search))
  const pages = list.data?.pages
  const records = useMemo(() => pages?.flatMap((page) => page.records) ?? [], [pages])
  const damaged = pages?.flatMap((page) => page.damaged ?? []) ?? []
  const isNarrowed = isFiltered(search)
  const { total, totalIsAtLeast: isAtLeast } = pages?.at(-1) ?? {}
  return (
    <Card
      title={search.order === 'asc' ? 'Oldest first' : 'Newest first'}
      aside={
        <>
          {total !== undefined && (
            <span className="tn">
              {count(records.length)} of {isAtLeast && 'at least '}
              {count(total)} ·{' '}
            </span>
          )}
          {isNarrowed ? 'those that hold' : 'those that were superseded too'}
        </>
      }
      flush
    >
      <div className="b row wrap sm filters">
        <Narrowing search={search} met={records} />
        <Filter
          name="since"
          any="since ever"
          value={search.since}
          shown={<Moment at={search.since} />}
          isMoment
          onPick={(since) => change({ since })}
        />
        <Filter
          name="until"
          any="until now"
          value={search.until}
          shown={<Moment at={search.until} />}
          isMoment
          onPick={(until) => change({ until })}
        />
        <span className="grow" />
        <button
          type="button"
          className="tag filter"
          onClick={() => change({ order: search.order === 'asc' ? undefined : 'asc' })}
        >
          {search.order === 'asc' ? 'newest first' : 'oldest first'}
          <Icon name="swap" />
        </button>
      </div>
      {damaged.length > 0 && (
        <div className="note bad">
          <Icon name="cross" />
          <p>
            <b>{counted(damaged.length, 'memory is', 'memories are')} damaged, and left out.</b>{' '}
            {damaged.map(({ ref, reason }) => `${ref ?? 'one'}: ${reason}`).join(', ')}
          </p>
        </div>
      )}
      <Loaded of={list} rows={10}>
        {() =>
          records.length > 0 ? (
            <Records of={records} slug={view.service.slug} />
          ) : isNarrowed ? (
            <Empty
              title="No memory passes the filters"
              action={
                <Link from="/s/$slug/memory" to="." search={{ view: 'browse' }} className="btn">
                  Without filters
                </Link>
              }
              command="loci memory list"
            >
              Only those that hold now are looked through.
            </Empty>
          ) : (
            <NothingStored />
          )
        }
      </Loaded>
      {list.hasNextPage && (
        <p className="b more">
          <button
            type="button"
            className="btn s"
            disabled={list.isFetchingNextPage}
            onClick={() => void list.fetchNextPage()}
          >
            <Icon name="down" />
            {search.order === 'asc' ? 'Newer ones' : 'Older ones'}
          </button>
        </p>
      )}
    </Card>
  )
}

export function NothingStored() {
  return (
    <Empty title="Nothing is stored yet" command={`loci memory store ${quoted('Ada prefers replies in Dutch')}`}>
      A memory is a sentence that will be worth knowing in a later session. Agents store them; so can you.
    </Empty>
  )
}

/** Rows out of sight are not laid out, so that a thousand of them cost what a screen of them costs. */
export function Records({ of, slug }: { of: readonly Memory[]; slug: string }) {
  const list = useRef<HTMLUListElement>(null)
  useRowKeys(list)
  return (
    <ul className="records" ref={list}>
      {of.map(({ id, content, actor, contextId, key, tags, occurredAt, createdAt, validTo, archivedAt }) => (
        <li key={id} className={validTo || archivedAt ? 'over' : undefined}>
          <Link to="/s/$slug/memory/$id" params={{ slug, id }} className="words" title={id} data-row>
            <Said of={content} line />
          </Link>
          <span className="row sm mut about">
            {validTo && <span className="tag warn over">superseded</span>}
            {archivedAt && !validTo && <span className="tag over">archived</span>}
            {actor && <Said of={actor} line />}
            {contextId && <Said of={contextId} line />}
            {key && <code className="tag">{key}</code>}
            {tags.map((tag) => (
              <span key={tag} className="tag">
                <Said of={tag} line />
              </span>
            ))}
          </span>
          <span className="id">{shortId(id)}</span>
          <span className="num mut sm">
            <Ago at={occurredAt ?? createdAt} />
          </span>
        </li>
      ))}
    </ul>
  )
}
