// The task that tools are ranked for. What it asks stands in the address.

import { useNavigate } from '@tanstack/react-router'
import { type FormEvent, type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { useKeys } from '../../keys/keys.ts'
import { Card } from '../../parts/card.tsx'
import type { AdviceSearch } from '../../search.ts'
import { amountOf, CLASS, EVENT } from './parts.ts'

const POLICY = 'loci://policy/default'

interface TaskProps {
  search: AdviceSearch
  isBusy: boolean
  /** The same once more. */
  onAgain(): void
}

export function Task({ search, isBusy, onAgain }: TaskProps) {
  const navigate = useNavigate({ from: '/s/$slug/advice' })
  const form = useRef<HTMLFormElement>(null)
  const intent = useRef<HTMLTextAreaElement>(null)
  const [typed, type] = useState(() => fieldsOf(search))
  useEffect(() => type(fieldsOf(search)), [search])
  useKeys(useMemo(() => ({ '/': () => intent.current?.select() }), []))
  const isBroken =
    typed.intent.trim() === '' ||
    [typed.cost, typed.latency].some((text) => text !== '' && amountOf(text) === undefined)
  const ask = (event?: FormEvent) => {
    event?.preventDefault()
    if (isBroken) return
    const wanted = searchOf(typed)
    if (isSame(wanted, searchOf(fieldsOf(search)))) onAgain()
    else void navigate({ search: (now) => ({ ...now, ...wanted, tool: undefined }), resetScroll: false })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    ask()
  }
  const field = (name: 'class' | 'policy' | 'event' | 'cost' | 'latency', label: string, placeholder: string) => (
    <label className="field">
      <span className="label">{label}</span>
      <input
        className={`in${name === 'policy' || name === 'event' ? ' code' : ''}`}
        maxLength={name === 'policy' ? 1_024 : 256}
        autoComplete="off"
        inputMode={name === 'cost' || name === 'latency' ? 'decimal' : undefined}
        placeholder={placeholder}
        value={typed[name]}
        onChange={({ target }) => type({ ...typed, [name]: target.value })}
      />
    </label>
  )
  return (
    <Card title="Task">
      <form ref={form} className="task" onSubmit={ask} onKeyDown={onKeyDown}>
        {field('class', 'Class', CLASS)}
        <label className="field">
          <span className="label">Intent</span>
          <textarea
            ref={intent}
            className="in mind"
            rows={3}
            maxLength={8_192}
            placeholder="What is to be done, as your agent would say it"
            value={typed.intent}
            onChange={({ target }) => type({ ...typed, intent: target.value })}
          />
        </label>
        {field('policy', 'Policy', POLICY)}
        <fieldset className="field limits">
          <legend>Limits</legend>
          {field('cost', 'At most USD', 'any cost')}
          {field('latency', 'At most ms', 'any latency')}
          <label className="row">
            <input
              type="checkbox"
              checked={typed.effects === 'no'}
              onChange={({ target }) => type({ ...typed, effects: target.checked ? 'no' : '' })}
            />
            no side effects
          </label>
        </fieldset>
        {field('event', 'Event', EVENT)}
        <span className="sm mut">The same event gets the same answer.</span>
        <button type="submit" className="btn p" disabled={isBroken} aria-busy={isBusy}>
          Rank tools <kbd>{/Mac|iP/.test(navigator.platform) ? '⌘↵' : 'Ctrl ↵'}</kbd>
        </button>
      </form>
    </Card>
  )
}

type Fields = Record<'class' | 'intent' | 'policy' | 'cost' | 'latency' | 'event' | 'effects', string>

function fieldsOf({
  class: of = '',
  intent = '',
  policy = '',
  cost = '',
  latency = '',
  event = '',
  effects,
}: AdviceSearch): Fields {
  return { class: of, intent, policy, cost, latency, event, effects: effects ?? '' }
}

function searchOf(typed: Fields): AdviceSearch {
  const text = (name: keyof Fields) => typed[name].trim() || undefined
  return {
    ...{ class: text('class'), intent: text('intent'), policy: text('policy') },
    ...{ cost: text('cost'), latency: text('latency'), event: text('event') },
    effects: typed.effects === 'no' ? 'no' : undefined,
  }
}

function isSame(one: AdviceSearch, other: AdviceSearch): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
