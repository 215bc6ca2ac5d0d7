// One slot beside the list: its words, why it is as strong as it is, whose they are, every version that is kept, and
// what can be done with it. It stays when the slot leaves: its versions are still there.

import type { Cycle, Record as MemoryRecord, Slot } from '@loci/sdk/daemon.ts'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useMemo, useRef, useState } from 'react'
import { newIdempotencyKey } from '../../api/api.ts'
import { count, score, shortId } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { useKeys } from '../../keys/keys.ts'
import { hasPage } from '../../pages.ts'
import { Confirm } from '../../parts/confirm.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Said } from '../../parts/said.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'
import { Ago, Clock } from '../../parts/time.tsx'
import { Sum, Why } from '../../parts/why.tsx'
import { useRestore } from './left.tsx'
import { PutDialog } from './put.tsx'
import { slotsChanged, versionsQuery } from './queries.ts'

interface PanelProps {
  slotKey: string
  /** Undefined: it has left. */
  slot: Slot | undefined
  record: MemoryRecord | undefined
  lastCycle: Cycle | undefined
}

export function SlotPanel({ slotKey, slot, record, lastCycle }: PanelProps) {
  const panel = useRef<HTMLElement>(null)
  const navigate = useNavigate()
  const close = useCallback(
    () => void navigate({ to: '.', search: (search) => ({ ...search, slot: undefined }) }),
    [navigate],
  )
  useKeys(useMemo(() => ({ Escape: close, y: () => void navigator.clipboard.writeText(slotKey) }), [close, slotKey]))
  // Where it lies over the list, it is where one is.
  useEffect(() => {
    if (panel.current && getComputedStyle(panel.current).position === 'fixed') panel.current.focus()
  }, [])
  return (
    <aside className="card panel" ref={panel} tabIndex={-1} aria-label={`Slot ${slotKey}`}>
      <header>
        <h2 className="code ell" title={slotKey}>
          {slotKey}
        </h2>
        <span className="r">
          {slot ? (
            <span className="tag acc">version {count(slot.version)}</span>
          ) : (
            <span className="tag">not in mind</span>
          )}
          <button type="button" className="btn q s" aria-label="Close" onClick={close}>
            <Icon name="cross" />
          </button>
        </span>
      </header>
      <div className="b panel-body">
        {slot ? (
          <>
            <Said of={slot.value} large />
            <WhySo slot={slot} lastCycle={lastCycle} />
            <About slot={slot} record={record} />
          </>
        ) : (
          <p className="note">
            <Icon name="info" />
            It is not in mind now. What it said while it was is below.
          </p>
        )}
        <Versions slotKey={slotKey} current={slot?.version} />
        {slot && <Actions slot={slot} />}
      </div>
    </aside>
  )
}

function WhySo({ slot: { explain, updatedAt }, lastCycle }: { slot: Slot; lastCycle: Cycle | undefined }) {
  const isOfCycle = lastCycle !== undefined && Date.parse(updatedAt) <= Date.parse(lastCycle.completedAt)
  return (
    <section aria-labelledby="why">
      <div className="row">
        <h3 id="why" tabIndex={-1}>
          Why {score(explain.score)}
        </h3>
        <span className="mut sm">{isOfCycle ? `at cycle ${count(lastCycle.seq)}` : 'when it was put'}</span>
      </div>
      <Sum parts={explain.parts} />
      <Why score={explain.score} parts={explain.parts} />
    </section>
  )
}

function About({ slot, record }: { slot: Slot; record: MemoryRecord | undefined }) {
  const { kind, tags, source, recordId, expiresAt, lastAccessedAt, accessCount } = slot
  const { service } = useService()
  return (
    <dl className="kv sm">
      {record?.actor && (
        <>
          <dt>Said by</dt>
          <dd>
            <Said of={record.actor} line />
            {record.contextId && (
              <>
                {' in '}
                <Said of={record.contextId} line />
              </>
            )}
          </dd>
        </>
      )}
      <dt>Came by</dt>
      <dd>{source.type === 'cycle' ? <CycleLink id={source.ref} /> : `${source.type}, put`}</dd>
      <dt>Trust</dt>
      <dd title={source.actor ?? undefined}>
        {source.trust}
        {source.actor && (
          <>
            , <span className="id">{source.actor.split(':').map(shortId).join(' ')}</span>
          </>
        )}
      </dd>
      {recordId && (
        <>
          <dt>Memory</dt>
          <dd>
            {hasPage('record') ? (
              <Link
                className="id"
                to="/s/$slug/memory/$id"
                params={{ slug: service.slug, id: recordId }}
                title={recordId}
              >
                {shortId(recordId)}
              </Link>
            ) : (
              <span className="id">{shortId(recordId)}</span>
            )}
          </dd>
        </>
      )}
      <dt>Matched</dt>
      <dd>
        {accessCount === 0 ? 'by no focus yet' : `${count(accessCount)} ×, last `}
        {accessCount > 0 && <Ago at={lastAccessedAt} />}
      </dd>
      <dt>Kind</dt>
      <dd>
        <Said of={[kind, ...tags].join(', ')} line />
      </dd>
      <dt>Expires</dt>
      <dd>{expiresAt ? <Ago at={expiresAt} /> : 'never'}</dd>
    </dl>
  )
}

function CycleLink({ id }: { id: string | null }) {
  const { service } = useService()
  if (id === null) return 'a cycle'
  if (!hasPage('cycle')) return <span className="id">{shortId(id)}</span>
  return (
    <Link className="id" to="/s/$slug/cycles/$id" params={{ slug: service.slug, id }} title={id}>
      {shortId(id)}
    </Link>
  )
}

function Versions({ slotKey, current }: { slotKey: string; current: number | undefined }) {
  const view = useService()
  const versions = useInfiniteQuery(versionsQuery(view, slotKey))
  const restore = useRestore()
  return (
    <section aria-labelledby="versions">
      <h3 id="versions">Versions</h3>
      {restore.error && (
        <Trouble error={restore.error} isWrite onRetry={() => restore.variables && restore.mutate(restore.variables)} />
      )}
      <Loaded of={versions} rows={2}>
        {({ pages }) => {
          const all = pages.flatMap((page) => page.versions)
          const damaged = pages.flatMap((page) => page.damaged ?? [])
          if (all.length + damaged.length === 0) return <p className="sm mut">None is kept any more.</p>
          return (
            <ol className="versions">
              {all.map(({ version, value, updatedAt }) => (
                <li key={version}>
                  <b className="tn">{count(version)}</b>
                  <span>
                    <Said of={value} />
                    <span className="row sm mut">
                      <Clock at={updatedAt} />
                      {version === current ? (
                        'now'
                      ) : (
                        <button
                          type="button"
                          className="link"
                          disabled={restore.isPending}
                          onClick={() => restore.mutate({ key: slotKey, version, idempotencyKey: newIdempotencyKey() })}
                        >
                          Restore
                        </button>
                      )}
                    </span>
                  </span>
                </li>
              ))}
              {damaged.map((one, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: they have no version that could be read
                <li key={`damaged ${at}`}>
                  <b>–</b>
                  <span className="st bad" title={one.reason}>
                    <Icon name="cross" />
                    damaged
                  </span>
                </li>
              ))}
            </ol>
          )
        }}
      </Loaded>
      {versions.hasNextPage && (
        <button type="button" className="btn s" onClick={() => void versions.fetchNextPage()}>
          Older
        </button>
      )}
    </section>
  )
}

function Actions({ slot }: { slot: Slot }) {
  const view = useService()
  const [asks, ask] = useState<'edit' | 'delete'>()
  const conditions = { path: { key: slot.key }, headers: { 'If-Match': slot.etag } }
  const pin = useMutation({
    mutationFn: (pinned: boolean) =>
      view.daemon.call('PATCH /v1/working-memory/slots/{key}', { ...conditions, body: { pinned } }),
    onSuccess: () => slotsChanged(view),
  })
  const remove = useMutation({
    mutationFn: () => view.daemon.call('DELETE /v1/working-memory/slots/{key}', conditions),
    onSuccess: () => {
      ask(undefined)
      return slotsChanged(view)
    },
  })
  return (
    <>
      {pin.error && <Trouble error={pin.error} isWrite onRetry={() => pin.mutate(!slot.pinned)} />}
      <div className="row wrap">
        <button type="button" className="btn s" disabled={pin.isPending} onClick={() => pin.mutate(!slot.pinned)}>
          <Icon name="pin" />
          {slot.pinned ? 'Unpin' : 'Pin'}
        </button>
        <button type="button" className="btn s" onClick={() => ask('edit')}>
          Edit
        </button>
        <Copy text={JSON.stringify(slot, null, 2)} label="JSON" />
        <span className="grow" />
        <button type="button" className="btn s d" onClick={() => ask('delete')}>
          Delete
        </button>
      </div>
      {asks === 'edit' && <PutDialog slot={slot} onClose={() => ask(undefined)} />}
      {asks === 'delete' && (
        <Confirm
          title="Take it out of mind?"
          action="Delete"
          isBusy={remove.isPending}
          onConfirm={() => remove.mutate()}
          onClose={() => ask(undefined)}
        >
          <Said of={slot.value} line />
          <p>
            The slot <code>{slot.key}</code> leaves now. Its versions stay for as long as your plan keeps them, so it
            can be restored{slot.recordId === null ? '.' : ', and its memory is not touched.'}
          </p>
          {remove.error && <Trouble error={remove.error} isWrite onRetry={() => remove.mutate()} />}
        </Confirm>
      )}
    </>
  )
}
