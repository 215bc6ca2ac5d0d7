// One memory: its words, how long they are true, what happened to it, and its erasure with a receipt.

import type { Record as Memory, RecordDeleted } from '@loci/sdk/daemon.ts'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { dropWords } from '../../api/cache.ts'
import { problemOf } from '../../api/problem.ts'
import { shortId } from '../../format.ts'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { useKeys } from '../../keys/keys.ts'
import { CommandLine, Copy } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Loaded, Trouble } from '../../parts/states.tsx'
import { Moment, useNow } from '../../parts/time.tsx'
import { Erase } from './erase.tsx'
import { Fields } from './fields.tsx'
import { stateOf } from './parts.ts'
import { Passages } from './passages.tsx'
import { recordQuery } from './queries.ts'
import { Receipt } from './receipt.tsx'
import './record.css'
import { Words } from './words.tsx'

const route = getRouteApi('/s/$slug/memory/$id')

export function Page() {
  const { id } = route.useParams()
  const [receipt, setReceipt] = useState<RecordDeleted>()
  // Another memory by its link: its page begins anew.
  const shown = receipt?.id === id ? receipt : undefined
  useKeys(useMemo(() => ({ y: () => void navigator.clipboard.writeText(id) }), [id]))
  return shown ? <Erased receipt={shown} /> : <Held key={id} id={id} onErased={setReceipt} />
}

function Held({ id, onErased }: { id: string; onErased(receipt: RecordDeleted): void }) {
  const view = useService()
  const record = useQuery(recordQuery(view, id))
  const [isErasing, setErasing] = useState(false)
  const now = useNow(60_000)
  const { database } = view.at
  const user = database === DEFAULT_DATABASE ? '' : ` --user ${database}`
  return (
    <>
      <Head
        title={id}
        shown={<code>{shortId(id)}</code>}
        of={view.service.name}
        above={<Above />}
        sub={record.data && <StateTag record={record.data} now={now} />}
      >
        {record.data && (
          <>
            <Copy text={JSON.stringify(record.data, null, 2)} label="JSON" />
            <button type="button" className="btn d" onClick={() => setErasing(true)}>
              <Icon name="erase" />
              Erase…
            </button>
          </>
        )}
      </Head>
      {record.data === undefined && record.error ? (
        <section className="card">
          <NotThere id={id} error={record.error} onRetry={() => void record.refetch()} />
        </section>
      ) : (
        <Whole isThere={record.data !== undefined}>
          <Loaded of={record} rows={5}>
            {(found) => (
              <div className="grid told">
                <div className="grid">
                  <Words record={found} now={now} />
                  <Passages record={found} now={now} />
                </div>
                <Fields record={found} />
              </div>
            )}
          </Loaded>
        </Whole>
      )}
      {record.data && (
        <p>
          <CommandLine>{`loci memory get ${id}${user}`}</CommandLine>
        </p>
      )}
      {isErasing && record.data && <Erase record={record.data} onErased={onErased} onClose={() => setErasing(false)} />}
    </>
  )
}

/** Until there is something, what stands in its place is one panel. */
function Whole({ isThere, children }: { isThere: boolean; children: ReactNode }) {
  return isThere ? children : <section className="card">{children}</section>
}

function Above() {
  const { service } = useService()
  return (
    <Link to="/s/$slug/memory" params={{ slug: service.slug }}>
      Memory
    </Link>
  )
}

function StateTag({ record, now }: { record: Memory; now: number }) {
  const { state, at } = stateOf(record, now)
  if (state === 'holds') return <span className="tag ok">holds</span>
  return (
    <span className="tag warn">
      <Icon name={state === 'superseded' ? 'swap' : 'clock'} />
      {state} <Moment at={at} />
    </span>
  )
}

function NotThere({ id, error, onRetry }: { id: string; error: unknown; onRetry(): void }) {
  const { service } = useService()
  const { kind } = problemOf(error)
  if (kind === 'missing')
    return (
      <Empty
        title="There is no memory under this id"
        action={
          <Link to="/s/$slug/memory" params={{ slug: service.slug }} className="btn p">
            Memory
          </Link>
        }
        command="loci memory list"
      >
        It was erased, it expired, or it is in another database. The receipt of an erasure stands in the audit, which
        operators read.
      </Empty>
    )
  if (kind !== 'damaged') return <Trouble error={error} onRetry={onRetry} />
  return (
    <div className="b damaged">
      <p className="row wrap">
        <span className="st bad">
          <Icon name="cross" />
          damaged
        </span>
        <span className="id">{id}</span>
      </p>
      <p>Its bytes do not fit its digest, so it is not shown; nothing else is hidden by it.</p>
      <Trouble error={error} />
    </div>
  )
}

/** Nothing of it is left in this page either: what holds words is dropped when its own page is gone. */
function Erased({ receipt }: { receipt: RecordDeleted }) {
  const { service } = useService()
  useEffect(() => dropWords(service.id), [service.id])
  return (
    <>
      <Head
        title={receipt.id}
        shown={<code>{shortId(receipt.id)}</code>}
        of={service.name}
        above={<Above />}
        sub={
          <span className="tag bad">
            <Icon name="erase" />
            erased
          </span>
        }
      />
      <div className="grid told">
        <section className="card" aria-label="Its words">
          <div className="b gone">
            <span className="redacted" />
            <p className="mut2">
              Its words are gone, here too. What decided about it keeps its place in the chain of cycles and shows
              “redacted”.
            </p>
          </div>
        </section>
        <Receipt of={receipt} />
      </div>
    </>
  )
}
