// Store a memory. The key of the write is made when the form opens: asking again cannot store it twice, and whatever
// comes of it, what was typed stays.

import type { RecordWrite } from '@loci/sdk/daemon.ts'
import { useMutation } from '@tanstack/react-query'
import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { newIdempotencyKey } from '../../api/api.ts'
import { problemOf } from '../../api/problem.ts'
import { bytes } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Trouble } from '../../parts/states.tsx'
import { memoryChanged, storeRecord } from './queries.ts'

const CONTENT_BYTES_MAX = 16_384

export function Store({ onStored, onClose }: { onStored(id: string): void; onClose(): void }) {
  const view = useService()
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const [fields, setFields] = useState({ content: '', actor: '', contextId: '', key: '', tags: '' })
  const attempt = useRef({ body: '', key: newIdempotencyKey() })
  useEffect(() => dialog.current?.showModal(), [])
  const store = useMutation({
    mutationFn: (isOverride: boolean) => {
      const body = { ...bodyOf(fields), ...(isOverride ? { override: true } : {}) }
      // Another body is another write.
      const text = JSON.stringify(body)
      if (attempt.current.body !== text) attempt.current = { body: text, key: newIdempotencyKey() }
      return storeRecord(view, body, attempt.current.key)
    },
    onSuccess: ({ id }) => {
      memoryChanged(view)
      onStored(id)
      dialog.current?.close()
    },
  })
  const size = new TextEncoder().encode(fields.content).length
  const isForgotten = store.error !== null && problemOf(store.error).code === 'MEMORY_FORGOTTEN'
  const field = (name: keyof typeof fields, label: string, hint: string) => (
    <label className="field">
      <span className="label">
        {label} <span className="mut">{hint}</span>
      </span>
      <input
        className="in"
        maxLength={256}
        autoComplete="off"
        value={fields[name]}
        onChange={({ target }) => setFields({ ...fields, [name]: target.value })}
      />
    </label>
  )
  return (
    <dialog ref={dialog} className="dialog" aria-labelledby={heading} onClose={onClose}>
      <h2 id={heading}>Store a memory</h2>
      <form
        className="grid"
        onSubmit={(event: FormEvent) => {
          event.preventDefault()
          store.mutate(false)
        }}
      >
        <label className="field">
          <span className="label">
            What is true <span className="mut">one sentence, with names instead of pronouns</span>
          </span>
          <textarea
            className="in mind"
            rows={3}
            required
            value={fields.content}
            onChange={({ target }) => setFields({ ...fields, content: target.value })}
          />
          {size > CONTENT_BYTES_MAX && (
            <span className="sm st bad">
              {bytes(size)} of at most {bytes(CONTENT_BYTES_MAX)}
            </span>
          )}
        </label>
        {field('actor', 'Who said it', 'may be left out')}
        {field('contextId', 'Conversation', 'may be left out')}
        {field('key', 'Key', 'names one current fact: a new one under it closes the former')}
        {field('tags', 'Tags', 'with commas between them')}
        {store.error && !isForgotten && <Trouble error={store.error} isWrite onRetry={() => store.mutate(false)} />}
        {isForgotten && (
          <div className="note warn" role="alert">
            <div>
              <b>This was erased, and is not learned again by itself.</b>
              <p className="sm">Nothing was stored. Store it only if whoever asked for the erasure agrees.</p>
              <button type="button" className="btn s d" onClick={() => store.mutate(true)}>
                Store it all the same
              </button>
            </div>
          </div>
        )}
        <div className="row">
          <button
            type="submit"
            className="btn p"
            disabled={store.isPending || size > CONTENT_BYTES_MAX || fields.content.trim() === ''}
          >
            {store.isPending ? 'Storing…' : 'Store'}
          </button>
          <button type="button" className="btn" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
        </div>
      </form>
    </dialog>
  )
}

function bodyOf({ content, actor, contextId, key, tags }: Record<string, string>): RecordWrite {
  const named = Object.entries({ actor, contextId, key }).filter(([, value]) => value?.trim())
  const labels = tags?.split(',').flatMap((tag) => tag.trim() || [])
  return {
    content: content ?? '',
    ...Object.fromEntries(named.map(([name, value]) => [name, value?.trim()])),
    ...(labels?.length ? { tags: labels } : {}),
  }
}
