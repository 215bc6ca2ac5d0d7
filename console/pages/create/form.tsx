// Steps 1 and 2: what it is, what it is called, where it lives.

import type { CreateServiceRequest } from '@loci/sdk/management.ts'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../api/api.ts'
import { problemOf } from '../../api/problem.ts'
import { tenantStatusQuery, tenantsQuery } from '../../api/tenants.ts'
import { bytes, count } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'

interface FormProps {
  isBusy: boolean
  isDone: boolean
  error: unknown
  onChange(): void
  onSubmit(body: CreateServiceRequest): void
  onAgain(): void
}

const TYPES = [
  ['memory', 'Memory', 'Working memory, recall, cycles, tool advice'],
  ['kv', 'Key-value', 'Keys with versions and expiry, nothing else'],
  ['graph', 'Graph', 'As memory; relation routes come later'],
] as const
const PLANS = ['free', 'starter', 'pro', 'enterprise'] as const
const REGION = 'us-east-1'

export function CreateForm({ isBusy, isDone, error, onChange, onSubmit, onAgain }: FormProps) {
  const api = useApi()
  const [tenantId, setTenant] = useState<string>()
  const [plan, setPlan] = useState<string>()
  const [config, setConfig] = useState('')
  const { data: tenants = [] } = useQuery(tenantsQuery(api))
  const { data: tenant } = useQuery(tenantStatusQuery(api, tenantId ?? tenants[0]?.id))
  const problem = error ? problemOf(error, { isWrite: true }) : undefined
  const isUnreadable = config.trim() !== '' && parsed(config) === undefined
  const chosenPlan = plan ?? tenant?.covered_plan ?? 'free'
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const fields = new FormData(event.currentTarget)
    const text = (name: string) => String(fields.get(name) ?? '').trim()
    const given = parsed(config)
    onSubmit({
      service_type: text('type'),
      name: text('name'),
      plan: chosenPlan as (typeof PLANS)[number],
      region: text('region'),
      ...(text('slug') ? { slug: text('slug') } : {}),
      ...(tenantId ? { tenant_id: tenantId } : {}),
      ...(given ? { config: given } : {}),
    })
  }
  return (
    <form className="grid" onSubmit={submit} onChange={onChange}>
      <fieldset disabled={isDone || isBusy} className="grid">
        <Card title="1. What it is">
          <div className="types" role="radiogroup" aria-label="What it is">
            {TYPES.map(([value, name, about], at) => (
              <label key={value} className="type">
                <input type="radio" name="type" value={value} defaultChecked={at === 0} />
                <b className="b5">{name}</b>
                <span className="sm mut2">{about}</span>
              </label>
            ))}
          </div>
        </Card>
        <Card title="2. Name and place">
          <div className="grid fields">
            <div className="field">
              <label htmlFor="name">Name</label>
              <input
                id="name"
                name="name"
                className="in"
                required
                maxLength={100}
                autoComplete="off"
                placeholder="my-agent"
              />
              <span className="sm mut">Its address is made of it, with six letters of its own.</span>
            </div>
            <div className="grid two">
              <div className="field">
                <label htmlFor="plan">Plan</label>
                <select id="plan" className="in" value={chosenPlan} onChange={({ target }) => setPlan(target.value)}>
                  {PLANS.map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
                {problem?.code === 'PLAN_NOT_COVERED' ? (
                  <span className="sm refused" role="alert">
                    {problem.message}
                  </span>
                ) : (
                  <span className="sm mut">
                    {tenant?.covered_plan === chosenPlan
                      ? `${count(tenant.limits.databases.limit)} databases · ${count(tenant.limits.records.limit)} records · ${bytes(tenant.limits.bytes.limit)} · ${count(tenant.limits.requests_per_second.limit)} req/s`
                      : tenant &&
                        `Covered is ${tenant.covered_plan}; its limits count until the bill covers ${chosenPlan}.`}
                  </span>
                )}
              </div>
              <div className="field">
                <label htmlFor="region">Region</label>
                <input id="region" name="region" className="in" defaultValue={REGION} required maxLength={64} />
                <span className="sm mut">Where its cell is. Without room there it waits.</span>
              </div>
            </div>
            {tenants.length > 1 && (
              <div className="field">
                <label htmlFor="tenant">Tenant</label>
                <select id="tenant" className="in" value={tenantId} onChange={({ target }) => setTenant(target.value)}>
                  {tenants.map(({ id, name }) => (
                    <option key={id} value={id}>
                      {name}
                    </option>
                  ))}
                </select>
                <span className="sm mut">Who is billed for it.</span>
              </div>
            )}
            <details className="sm">
              <summary className="mut2">Advanced: address, config as JSON</summary>
              <div className="grid fields">
                <div className="field">
                  <label htmlFor="slug">Address</label>
                  <input
                    id="slug"
                    name="slug"
                    className="in code"
                    pattern="[a-z0-9][a-z0-9-]{0,62}"
                    autoComplete="off"
                    placeholder="my-agent"
                  />
                  <span className="sm mut">Letters, digits and hyphens; nobody else may have it.</span>
                </div>
                <div className="field">
                  <label htmlFor="config">Config</label>
                  <textarea
                    id="config"
                    className="in code"
                    rows={5}
                    value={config}
                    placeholder={'{ "capacity": 12 }'}
                    aria-invalid={isUnreadable}
                    onChange={({ target }) => setConfig(target.value)}
                  />
                  {isUnreadable && (
                    <span className="sm refused" role="alert">
                      This is not a JSON object.
                    </span>
                  )}
                </div>
              </div>
            </details>
          </div>
        </Card>
      </fieldset>
      {isDone ? (
        <div className="row">
          <button type="button" className="btn" onClick={onAgain}>
            <Icon name="add" />
            Create another one
          </button>
        </div>
      ) : (
        <div className="row">
          <button type="submit" className="btn p" disabled={isBusy || isUnreadable}>
            {isBusy ? 'Asking…' : 'Create service'}
          </button>
        </div>
      )}
    </form>
  )
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
