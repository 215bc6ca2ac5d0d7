// Step 3: the steps that the operation takes, each with its seconds, as management reports them.

import type { Operation } from '@loci/sdk/management.ts'
import { type UseQueryResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { organizationKey } from '../../api/cache.ts'
import { shortId, took } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'
import { useNow } from '../../parts/time.tsx'
import { isOver } from './queries.ts'

interface StepsProps {
  operation: UseQueryResult<Operation>
  isAsked: boolean
  estimateS: number | undefined
}

const STEPS = ['place', 'publish', 'confirm'] as const
const ABOUT: Readonly<Record<string, readonly [string, string]>> = {
  place: ['Place', 'a cell of the region with room for it'],
  publish: ['Publish', 'into the feed of that cell'],
  confirm: ['Confirm', 'the cell reports it as serving'],
}

export function Steps({ operation, isAsked, estimateS }: StepsProps) {
  if (!isAsked)
    return (
      <Card title="3. Being made" aside="three steps, some seconds">
        <ol className="steps">
          {STEPS.map((name) => (
            <Step
              key={name}
              step={{ name, status: 'pending', started_at: null, completed_at: null, detail: null }}
              now={0}
            />
          ))}
        </ol>
      </Card>
    )
  if (!operation.data)
    return (
      <Card title="3. Being made">
        <Loaded of={operation} rows={3}>
          {() => null}
        </Loaded>
      </Card>
    )
  return <Running operation={operation.data} estimateS={estimateS} />
}

function Running({ operation, estimateS }: { operation: Operation; estimateS: number | undefined }) {
  const { id, status, steps, percent, error, created_at, updated_at } = operation
  const isEnded = isOver(operation)
  const now = useNow(100)
  const ms = (isEnded ? Date.parse(updated_at) : now) - Date.parse(created_at)
  return (
    <Card
      title="3. Being made"
      aside={
        <>
          <Icon name="clock" />
          <span className="tn">
            {took(Math.max(0, ms))}
            {!isEnded && estimateS !== undefined && ` of about ${estimateS} s`}
          </span>
        </>
      }
    >
      <ol className="steps" aria-live="polite">
        {steps.map((step) => (
          <Step key={step.name} step={step} now={now} />
        ))}
      </ol>
      {status !== 'failed' && (
        <span
          className="meter"
          role="progressbar"
          aria-label="Done"
          aria-valuenow={percent}
          aria-valuemin={0}
          aria-valuemax={100}
        >
          <i style={{ width: `${percent}%` }} />
        </span>
      )}
      {error && <Failed operation={operation} />}
      <p className="row wrap sm mut foot">
        <span>
          Operation{' '}
          <span className="id" title={id}>
            {shortId(id)}
          </span>
        </span>
        <span className="grow" />
        {!isEnded && estimateS !== undefined && <span>Estimate = nine of ten took less here</span>}
        {status === 'succeeded' && <span>It is active</span>}
      </p>
    </Card>
  )
}

function Step({ step, now }: { step: Operation['steps'][number]; now: number }) {
  const { name, status, started_at, completed_at, detail } = step
  const [label, about] = ABOUT[name] ?? [name, '']
  const from = started_at === null ? undefined : Date.parse(started_at)
  const ms = from === undefined ? undefined : (completed_at === null ? now : Date.parse(completed_at)) - from
  return (
    <li className={status}>
      <span className="mk">
        {status === 'succeeded' && <Icon name="check" />}
        {status === 'running' && <Icon name="running" />}
        {status === 'failed' && <Icon name="cross" />}
      </span>
      <div>
        <div className="row">
          <b className="b5">{label}</b>
          <span className="sr">{status}</span>
          <span className="grow" />
          {ms !== undefined && (
            <span className="mut sm tn">
              {took(Math.max(0, ms))}
              {completed_at === null && '…'}
            </span>
          )}
        </div>
        <div className="sm mut2">
          {about}
          {detail && (
            <>
              {' · '}
              <code>{detail}</code>
            </>
          )}
        </div>
      </div>
    </li>
  )
}

function Failed({ operation: { service_id, error } }: { operation: Operation }) {
  const api = useApi()
  const cache = useQueryClient()
  const navigate = getRouteApi('/services/new').useNavigate()
  const [key] = useState(newIdempotencyKey)
  const retry = useMutation({
    mutationFn: async () => {
      const path = { id: service_id }
      return (await api.management.call('POST /api/v1/services/{id}/retry', { path, idempotencyKey: key })).body
    },
    onSuccess: ({ id }) => {
      void cache.invalidateQueries({ queryKey: organizationKey(api, 'services') })
      void navigate({ search: { op: id }, replace: true })
    },
  })
  return (
    <>
      <div className="note bad" role="alert">
        <Icon name="cross" />
        <div>
          <b>{error?.message}</b>
          <p className="sm mut2">It uses nothing of the plan. Try again, or delete it in the list.</p>
        </div>
      </div>
      <div className="row wrap foot">
        <button type="button" className="btn s p" disabled={retry.isPending} onClick={() => retry.mutate()}>
          Try again
        </button>
        <Link to="/services" search={{ status: 'look' }} className="btn s">
          In the list
        </Link>
        <span className="id">{error?.code}</span>
      </div>
      {retry.error && <Trouble error={retry.error} isWrite onRetry={() => retry.mutate()} />}
    </>
  )
}
