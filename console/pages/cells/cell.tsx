// One cell: where it is reached, by which keys it is known, how many services it may hold.

import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { queries } from '../../api/cache.ts'
import { type Cell, staffKey } from '../../api/staff.ts'
import { count, shortId } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Ago, Moment, useNow } from '../../parts/time.tsx'
import { alarmOf } from './words.ts'

export function CellDetail({ cell }: { cell: Cell }) {
  const { id, name, endpoint, public_keys, tenant_id, created_at, heard_seq, feed_seq, alarm } = cell
  const now = useNow(5_000)
  const told = alarmOf(cell, now)
  return (
    <Card title={name} aside={<span className="id">{id}</span>}>
      <div className="grid">
        {told && (
          <div className={`note ${told.tone}`} role="status">
            <Icon name="warning" />
            <div>
              <b className="b5">{told.word}</b>
              <p className="sm">
                {told.detail}{' '}
                {alarm && (
                  <>
                    Told <Ago at={alarm.at} />.
                  </>
                )}
              </p>
            </div>
          </div>
        )}
        <dl className="kv">
          <dt>Reached at</dt>
          <dd>
            <code>{endpoint}</code>
          </dd>
          <dt>Feed</dt>
          <dd className="tn">
            applied {count(heard_seq)} of {count(feed_seq)}
          </dd>
          <dt>Keys</dt>
          <dd>
            {public_keys.map((key) => (
              <span key={key} className="row">
                <code title={key}>{`${key.slice(0, 8)}…${key.slice(-4)}`}</code>
                <Copy text={key} />
              </span>
            ))}
            {public_keys.length > 1 && <span className="sm mut">It is changing its key.</span>}
          </dd>
          <dt>Reserved</dt>
          <dd>{tenant_id ? <span className="id">{shortId(tenant_id)}</span> : 'for nobody'}</dd>
          <dt>Registered</dt>
          <dd>
            <Moment at={created_at} />
          </dd>
        </dl>
        <Capacity cell={cell} />
      </div>
    </Card>
  )
}

/** At 0, or what it holds, nothing new is placed in it. */
function Capacity({ cell }: { cell: Cell }) {
  const api = useApi()
  const [text, setText] = useState(String(cell.capacity))
  const capacity = Number(text)
  const isChanged = Number.isInteger(capacity) && capacity >= 0 && capacity !== cell.capacity && text.trim() !== ''
  const change = useMutation({
    mutationFn: async () => {
      const call = { path: { id: cell.id }, body: { capacity }, idempotencyKey: newIdempotencyKey() }
      return (await api.management.call('PATCH /api/v1/cells/{id}', call)).body
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: staffKey('cells') }),
  })
  return (
    <form
      className="grid"
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged) change.mutate()
      }}
    >
      <label className="field capacity">
        <span className="label">Services that it may hold</span>
        <span className="row">
          <input
            name="capacity"
            className="in"
            inputMode="numeric"
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
          <button type="submit" className="btn" disabled={!isChanged || change.isPending}>
            {change.isPending ? 'Asking…' : 'Change'}
          </button>
        </span>
        <span className="sm mut">
          {isChanged && capacity <= cell.placed
            ? 'It holds as many already: nothing new is placed in it, and what is there stays.'
            : 'New services are placed while there is room.'}
        </span>
      </label>
      {change.error && <Trouble error={change.error} isWrite onRetry={() => change.mutate()} />}
    </form>
  )
}
