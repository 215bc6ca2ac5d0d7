// Put something in mind, or change what is there. A change is made over the version that is shown: what was written
// meanwhile is not lost, it is told. What is typed stays until it was done.

import type { Slot, SlotWritten } from '@loci/sdk/daemon.ts'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useService } from '../../frame/service.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { LeftTag } from '../../parts/left.tsx'
import { Trouble } from '../../parts/states.tsx'
import { slotsChanged } from './queries.ts'
import { readValue, type Typed, typedOf } from './typed.ts'

interface PutProps {
  /** Undefined: a new one. */
  slot?: Slot
  onClose(): void
}

const ENDS = [
  ['', 'never'],
  ['900000', 'in 15 minutes'],
  ['3600000', 'in an hour'],
  ['86400000', 'in a day'],
] as const

export function PutDialog({ slot, onClose }: PutProps) {
  const view = useService()
  const [key, setKey] = useState(slot?.key ?? '')
  const [typed, setTyped] = useState<Typed>(slot ? typedOf(slot.value) : { text: '', isJson: false })
  const [pinned, setPinned] = useState(slot?.pinned ?? false)
  const [ends, setEnds] = useState(slot ? 'same' : '')
  const value = readValue(typed)
  const put = useMutation({
    mutationFn: async (what: { value: unknown }): Promise<SlotWritten> => {
      const path = { key: slot?.key ?? key.trim() }
      const ttl = ends === 'same' ? {} : { ttlMs: ends === '' ? null : Number(ends) }
      const body = { value: what.value, pinned, ...ttl }
      if (slot) {
        const headers = { 'If-Match': slot.etag }
        return (await view.daemon.call('PATCH /v1/working-memory/slots/{key}', { path, headers, body })).body
      }
      const headers = { 'If-None-Match': '*' }
      return (await view.daemon.call('PUT /v1/working-memory/slots/{key}', { path, headers, body })).body
    },
    onSuccess: async ({ evicted }) => {
      await slotsChanged(view)
      if (evicted.length === 0) onClose()
    },
  })
  const submit = () => 'value' in value && put.mutate({ value: value.value })
  if (put.data)
    return (
      <Dialog title="It is in mind" onClose={onClose}>
        <p>Something made room for it and can be restored:</p>
        <ul className="made-room">
          {put.data.evicted.map(({ key: gone, reasonCode, reason }) => (
            <li key={gone} title={reason}>
              <LeftTag code={reasonCode} /> <span className="id">{gone}</span>
            </li>
          ))}
        </ul>
        <button type="button" className="btn p" onClick={onClose}>
          Good
        </button>
      </Dialog>
    )
  return (
    <Dialog title={slot ? `Change ${slot.key}` : 'Put something in mind'} onClose={onClose}>
      <form
        className="put"
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        {!slot && (
          <label className="field">
            <span className="label">Key: the name of what it tells</span>
            <input
              className="in code"
              required
              maxLength={512}
              autoComplete="off"
              placeholder="order.4411.refund"
              value={key}
              onChange={({ target }) => setKey(target.value)}
            />
          </label>
        )}
        <label className="field">
          <span className="label">What is to be in mind</span>
          <textarea
            className="in mind"
            rows={4}
            required
            aria-invalid={'problem' in value || undefined}
            value={typed.text}
            onChange={({ target }) => setTyped({ ...typed, text: target.value })}
          />
        </label>
        <label className="row">
          <input
            type="checkbox"
            checked={typed.isJson}
            onChange={({ target }) => setTyped({ ...typed, isJson: target.checked })}
          />
          It is JSON, not words
        </label>
        {'problem' in value && typed.text !== '' && <p className="sm st bad">{value.problem}</p>}
        <label className="row">
          <input type="checkbox" checked={pinned} onChange={({ target }) => setPinned(target.checked)} />
          Pinned: it does not leave by itself
        </label>
        <label className="field">
          <span className="label">It expires</span>
          <select className="in" value={ends} onChange={({ target }) => setEnds(target.value)}>
            {slot && <option value="same">as it does now</option>}
            {ENDS.map(([ms, label]) => (
              <option key={ms} value={ms}>
                {label}
              </option>
            ))}
          </select>
        </label>
        {put.error && <Trouble error={put.error} isWrite onRetry={submit} />}
        <div className="row">
          <button type="submit" className="btn p" disabled={put.isPending || !('value' in value)}>
            {put.isPending ? 'Asking…' : slot ? 'Change it' : 'Put'}
          </button>
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}
