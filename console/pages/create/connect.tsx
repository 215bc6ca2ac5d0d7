// How an agent connects to a service that is active, and the first memory.

import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import type { ServiceItem } from '../../api/services.ts'
import { shortId, span } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Said } from '../../parts/said.tsx'
import { Trouble } from '../../parts/states.tsx'
import { linesOf, WAYS, type Way } from './lines.ts'

export function Connect({ service }: { service: ServiceItem }) {
  const [way, setWay] = useState<Way>('MCP')
  const lines = linesOf(way, service)
  return (
    <Card
      title="Then: connect"
      aside={
        <Link to="/s/$slug" params={{ slug: service.slug }} className="why">
          Open {service.name} <Icon name="next" />
        </Link>
      }
    >
      <div className="grid fields">
        <fieldset className="seg" aria-label="By what">
          {WAYS.map((one) => (
            <button key={one} type="button" aria-pressed={one === way} onClick={() => setWay(one)}>
              {one}
            </button>
          ))}
        </fieldset>
        <div className="lines">
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by the keyboard */}
          <pre className="code" tabIndex={0}>
            {lines}
          </pre>
          <Copy text={lines} />
        </div>
        <Token service={service} />
        {service.service_type_id !== 'kv' && <FirstMemory service={service} />}
      </div>
    </Card>
  )
}

/** Never in the cache, an address or a store: it is gone with this part of the page. */
function Token({ service }: { service: ServiceItem }) {
  const api = useApi()
  const [key] = useState(newIdempotencyKey)
  const [isShown, show] = useState(false)
  const make = useMutation({
    gcTime: 0,
    mutationFn: async () => {
      const path = { id: service.tenant_id }
      const body = { service_id: service.id, name: `for ${service.name}`.slice(0, 100) }
      const call = { path, body, idempotencyKey: key }
      return (await api.management.call('POST /api/v1/tenants/{id}/tokens', call)).body
    },
  })
  const { data } = make
  if (make.error) return <Trouble error={make.error} isWrite onRetry={() => make.mutate()} />
  return (
    <div className="note token">
      <Icon name="lock" />
      <div className="grow">
        <b>{data ? 'Token, shown once' : 'A token for an agent'}</b>
        <p className="sm">
          {data
            ? `${shortId(data.token_id)} · ${data.ops.length} rights · ${span(data.expires_in * 1_000)}`
            : 'It is shown once, and ends by itself. Tokens revokes it.'}
        </p>
        {data && isShown && <p className="code secret">{data.token}</p>}
      </div>
      {data ? (
        <>
          <button type="button" className="btn s" onClick={() => show(!isShown)}>
            {isShown ? 'Hide' : 'Show'}
          </button>
          <Copy text={data.token} />
        </>
      ) : (
        <button type="button" className="btn s" disabled={make.isPending} onClick={() => make.mutate()}>
          Make a token
        </button>
      )}
    </div>
  )
}

/** Stored, and asked for: both by the routes that an agent calls. */
function FirstMemory({ service }: { service: ServiceItem }) {
  const daemon = useApi().daemon(service.id)
  const [key, setKey] = useState(newIdempotencyKey)
  const [question, setQuestion] = useState<string>()
  const store = useMutation({
    mutationFn: async (content: string) => {
      await daemon.call('POST /v1/memory/records', { body: { content }, idempotencyKey: key })
      return content
    },
    onSuccess: () => setKey(newIdempotencyKey()),
  })
  const recall = useMutation({
    mutationFn: async (query: string) =>
      (await daemon.call('POST /v1/memory/recall', { body: { query, limit: 1 } })).body,
  })
  const ask = (text: string) => {
    setQuestion(text)
    recall.mutate(text)
  }
  const [hit] = recall.data?.results ?? []
  return (
    <>
      <Line
        label="Store a first memory"
        placeholder="Ada prefers replies in Dutch"
        isBusy={store.isPending}
        onEnter={(text) => store.mutate(text)}
      />
      {store.error && (
        <Trouble error={store.error} isWrite onRetry={() => store.variables && store.mutate(store.variables)} />
      )}
      {store.data && (
        <>
          <p className="row wrap sm" role="status">
            <span className="st ok">
              <Icon name="check" />
              Stored
            </span>
            <Said of={store.data} line />
          </p>
          <Line label="Ask for it" placeholder="which language for Ada?" isBusy={recall.isPending} onEnter={ask} />
          {recall.error && <Trouble error={recall.error} onRetry={() => question && recall.mutate(question)} />}
          {recall.data && (
            <p role="status" className="answer">
              {hit ? <Said of={hit.content} /> : <span className="mut2">It does not know that.</span>}
            </p>
          )}
        </>
      )}
    </>
  )
}

function Line({
  label,
  placeholder,
  isBusy,
  onEnter,
}: {
  label: string
  placeholder: string
  isBusy: boolean
  onEnter(text: string): void
}) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const text = String(new FormData(event.currentTarget).get('text') ?? '').trim()
    if (text !== '') onEnter(text)
  }
  return (
    <form className="field" onSubmit={submit}>
      <label className="field">
        <span className="label">{label}</span>
        <span className="in">
          <input name="text" className="mind" autoComplete="off" placeholder={placeholder} readOnly={isBusy} />
          <kbd>Enter</kbd>
        </span>
      </label>
    </form>
  )
}
