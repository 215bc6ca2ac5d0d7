// One box = one recall: what an agent would be told to the same question, and why.

import type { RecallResult } from '@loci/sdk/daemon.ts'
import { useInfiniteQuery } from '@tanstack/react-query'
import { type ReactNode, useCallback, useMemo, useRef } from 'react'
import { count, took } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { useKeys } from '../../keys/keys.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { FamilyLegend } from '../../parts/why.tsx'
import type { MemorySearch } from '../../search.ts'
import { Abstained } from './abstained.tsx'
import { Ask, useChange } from './ask.tsx'
import { Expected } from './expected.tsx'
import { Hits, type Shown } from './hits.tsx'
import { Missing } from './missing.tsx'
import { Newest } from './newest.tsx'
import { isFiltered, quoted, recallRequest } from './parts.ts'
import { recallQuery } from './queries.ts'
import { Reasons, Relevance, WhyCard } from './why-panel.tsx'

interface RecallProps {
  search: MemorySearch
  /** Somebody wants to store something. */
  onStore(): void
}

export function Recall({ search, onStore }: RecallProps) {
  const view = useService()
  const request = recallRequest(search)
  const recall = useInfiniteQuery(recallQuery(view, request))
  const pages = recall.data?.pages
  const hits = useMemo(() => pages?.flatMap(({ results }) => results) ?? [], [pages])
  const box = useRef<HTMLInputElement>(null)
  useKeys(useMemo(() => ({ '/': () => box.current?.select() }), []))
  return (
    <>
      <Ask
        search={search}
        met={hits}
        box={box}
        isBusy={recall.isFetching}
        onAgain={() => void recall.refetch({ cancelRefetch: true })}
      >
        {pages?.[0] && <Outcome first={pages[0]} shown={hits.length} />}
      </Ask>
      {request === undefined ? (
        <Newest />
      ) : (
        <Whole isThere={pages !== undefined}>
          <Loaded of={recall} rows={6}>
            {({ pages: [first] }) =>
              first === undefined ? null : first.abstained ? (
                <Abstained search={search} answer={first} request={request} onStore={onStore} />
              ) : (
                <Answered
                  search={search}
                  first={first}
                  hits={hits}
                  more={recall.hasNextPage ? () => void recall.fetchNextPage() : undefined}
                />
              )
            }
          </Loaded>
        </Whole>
      )}
    </>
  )
}

/** Until there is an answer, what stands in its place is one panel. */
function Whole({ isThere, children }: { isThere: boolean; children: ReactNode }) {
  return isThere ? children : <section className="card">{children}</section>
}

/** `6 of 21 that match · 3.1 ms · change 131`. */
function Outcome({ first: { abstained, total, tookMs, asOfSeq }, shown }: { first: RecallResult; shown: number }) {
  return (
    <span className="mut tn" role="status">
      {abstained ? 'abstained' : `${count(shown)} of ${count(total)} that match`} · {took(tookMs)} · change{' '}
      {count(asOfSeq)}
    </span>
  )
}

interface AnsweredProps {
  search: MemorySearch
  first: RecallResult
  hits: readonly RecallResult['results'][number][]
  more: (() => void) | undefined
}

function Answered({ search, first, hits, more }: AnsweredProps) {
  const { service } = useService()
  const change = useChange()
  const list = useRef<HTMLOListElement>(null)
  const on = hits.find(({ id }) => id === search.hit) ?? hits[0]
  const onWhy = useCallback((hit: string) => change({ hit }, { replace: true }), [change])
  const request = recallRequest(search)
  if (!on || !request)
    return (
      <section className="card">
        <Empty title="Nothing to answer with" command={`loci memory store ${quoted('what is true')}`}>
          {isFiltered(search) ? 'No memory passes the filters.' : 'Nothing is stored in this database yet.'}
        </Empty>
      </section>
    )
  return (
    <>
      <Missing of={first} />
      <div className="grid beside">
        <Card title="Best first" aside={<FamilyLegend />} flush>
          <Hits
            list={list}
            hits={hits}
            slug={service.slug}
            on={on.id}
            onWhy={onWhy}
            why={(hit: Shown) => <Reasons hit={hit} />}
          />
          {more && (
            <p className="b more">
              <button type="button" className="btn s" onClick={more}>
                <Icon name="down" />
                {count(first.total - hits.length)} more
              </button>
            </p>
          )}
        </Card>
        <aside className="grid" aria-label="Why">
          <div className="wide">
            <WhyCard hit={on} rank={hits.indexOf(on) + 1} />
          </div>
          <Card title="Would it say “I don’t know”?">
            <Relevance of={Math.max(...hits.map(({ relevance }) => relevance))} isAnswer />
            <p className="sm mut2">
              {search.anyway
                ? 'This was asked to answer anyway: an agent that does not ask so hears nothing below the mark.'
                : 'Relevance is how likely it answers this question, whatever else is stored.'}
            </p>
          </Card>
          <Expected request={request} first={hits[0]} />
        </aside>
      </div>
    </>
  )
}
