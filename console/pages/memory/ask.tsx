// The box that a question is typed into, and what narrows it. What it asks stands in the address.

import { useNavigate } from '@tanstack/react-router'
import { type ReactNode, type RefObject, useEffect, useState } from 'react'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Menu } from '../../parts/menu.tsx'
import { Moment } from '../../parts/time.tsx'
import type { MemorySearch } from '../../search.ts'
import { Filter } from './filter.tsx'
import { curlOf, type Filters, limitOf, recallRequest, seen } from './parts.ts'

/** Of what is shown: what can be chosen to narrow it. */
export interface Met {
  actor: string | null
  kind: string
  tags: string[]
  contextId: string | null
  key: string | null
}

interface AskProps {
  search: MemorySearch
  met: readonly Met[]
  box: RefObject<HTMLInputElement | null>
  isBusy: boolean
  /** The same question once more. */
  onAgain(): void
  /** What came of it. */
  children?: ReactNode
}

export function Ask({ search, met, box, isBusy, onAgain, children }: AskProps) {
  const { service, at } = useService()
  const change = useChange()
  const [text, setText] = useState(search.q ?? '')
  useEffect(() => setText(search.q ?? ''), [search.q])
  const request = recallRequest(search)
  const ask = () => {
    const q = text.trim()
    if (q === search.q) onAgain()
    else change({ q: q || undefined, hit: undefined, anyway: undefined })
  }
  return (
    <section className="card" aria-label="Ask">
      <div className="b ask">
        <search>
          <form
            className="in big"
            onSubmit={(event) => {
              event.preventDefault()
              ask()
            }}
          >
            <Icon name="find" />
            <input
              ref={box}
              className="mind"
              type="text"
              aria-label="A question"
              placeholder="Ask as your agent would"
              maxLength={8_192}
              autoComplete="off"
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
            <button type="submit" className="btn p s" aria-busy={isBusy}>
              Recall <kbd>↵</kbd>
            </button>
          </form>
        </search>
        <div className="row wrap sm filters">
          <Filter
            name="as of"
            any="as of now"
            value={search.as_of}
            shown={<Moment at={search.as_of} />}
            isMoment
            onPick={(as_of) => change({ as_of })}
          />
          <Narrowing search={search} met={met} />
          <Limit search={search} />
          <span className="grow" />
          {children}
          {request && service.endpoint && (
            <Copy
              label="Copy as curl"
              text={curlOf({
                endpoint: service.endpoint,
                database: at.database === DEFAULT_DATABASE ? undefined : at.database,
                request,
              })}
            />
          )}
        </div>
      </div>
    </section>
  )
}

/** What is in both: of a question and of the list. */
export function Narrowing({ search, met }: { search: Filters; met: readonly Met[] }) {
  const change = useChange()
  return (
    <>
      <Filter
        name="actor"
        any="any actor"
        value={search.actor}
        seen={seen(met.map(({ actor }) => actor))}
        onPick={(actor) => change({ actor })}
      />
      <Filter
        name="kind"
        any="any kind"
        value={search.kind}
        seen={seen(met.map(({ kind }) => kind))}
        onPick={(kind) => change({ kind })}
      />
      <Filter
        name="tag"
        any="any tag"
        value={search.tag}
        seen={seen(met.flatMap(({ tags }) => tags))}
        onPick={(tag) => change({ tag })}
      />
      <Filter
        name="context"
        any="any context"
        value={search.context}
        seen={seen(met.map(({ contextId }) => contextId))}
        onPick={(context) => change({ context })}
      />
      <Filter
        name="key"
        any="any key"
        value={search.key}
        seen={seen(met.map(({ key }) => key))}
        onPick={(key) => change({ key })}
      />
    </>
  )
}

function Limit({ search }: { search: MemorySearch }) {
  const change = useChange()
  return (
    <Menu
      className="tag filter"
      label={
        <>
          at most {limitOf(search)}
          <Icon name="choose" />
        </>
      }
    >
      {([undefined, '25', '100'] as const).map((limit) => (
        <button
          key={limit ?? 'default'}
          type="button"
          aria-current={limit === search.limit || undefined}
          onClick={() => change({ limit })}
        >
          at most {limitOf({ limit })}
        </button>
      ))}
    </Menu>
  )
}

/** What the address says, changed in part; what narrows otherwise shows other hits. */
export function useChange(): (change: Partial<MemorySearch>, options?: { replace?: boolean }) => void {
  const navigate = useNavigate({ from: '/s/$slug/memory' })
  return (change, { replace = false } = {}) =>
    void navigate({ search: (search) => ({ ...search, hit: undefined, ...change }), replace, resetScroll: false })
}
