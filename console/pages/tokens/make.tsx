// A new token: for which service, what it may do, where, and for how long. What was typed stays whatever is answered.

import { hasOperation, OPERATIONS, type Operation } from '@loci/contract/operations.ts'
import type { Tenant, TokenRequest } from '@loci/sdk/management.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { servicesQuery } from '../../api/services.ts'
import { shortId, span } from '../../format.ts'
import { CommandLine } from '../../parts/copy.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Empty, Trouble } from '../../parts/states.tsx'
import { Withheld, withheldId } from '../../parts/withheld.tsx'
import { credentialsChanged, makeToken, revokeToken } from './queries.ts'
import { ALL, inWords, PRESETS, type Preset, TIME_DEFAULT, TIMES, whyNot } from './rights.ts'
import { Rights } from './rights-field.tsx'

const DEPTHS = [
  [0, 'no'],
  [1, 'once'],
  [2, 'twice'],
  [4, 'four times'],
] as const

export function MakeToken({ tenant, onClose }: { tenant: Tenant; onClose(): void }) {
  const api = useApi()
  const services = useQuery(servicesQuery(api))
  const usable = (services.data ?? []).filter(
    ({ tenant_id, status }) => tenant_id === tenant.id && (status === 'active' || status === 'updating'),
  )
  const [serviceId, setService] = useState<string>()
  const [name, setName] = useState('')
  const [preset, setPreset] = useState<Preset['id']>()
  const [chosen, setChosen] = useState<ReadonlySet<string>>()
  const [where, setWhere] = useState<'default' | 'all' | 'some'>('default')
  const [databases, setDatabases] = useState('')
  const [seconds, setSeconds] = useState(TIME_DEFAULT)
  const [depth, setDepth] = useState(0)
  const [key, setKey] = useState(newIdempotencyKey)
  const make = useMutation({
    gcTime: 0,
    mutationFn: (given: { body: TokenRequest; key: string }) => makeToken(api, tenant.id, given.body, given.key),
    onSuccess: () => void credentialsChanged(api),
  })
  const service = usable.find(({ id }) => id === serviceId) ?? usable[0]
  const { role, ops: mayOps } = api.organization
  const bounds = { role, ops: mayOps, serviceType: service?.service_type_id ?? 'memory' }
  const can = (op: Operation) => whyNot(op, bounds) === undefined
  const wanted = (op: Operation) =>
    chosen ? chosen.has(op) : (PRESETS.find(({ id }) => id === (preset ?? 'agent'))?.has(op) ?? false)
  const ops = ALL.filter((op) => can(op) && wanted(op))
  const isOperator = ops.includes('operator')
  const shown = ALL.filter((op) => !service || hasOperation(bounds.serviceType, OPERATIONS[op]))
  const submit = (withKey = key) => {
    if (!service) return
    const body: TokenRequest = {
      service_id: service.id,
      ops,
      databases: where === 'all' ? ['*'] : where === 'default' ? ['default'] : namesOf(databases),
      ttl_seconds: seconds,
      max_delegation_depth: isOperator ? 0 : depth,
      ...(name.trim() === '' ? {} : { name: name.trim() }),
    }
    make.mutate({ body, key: withKey })
  }
  const anew = () => {
    const next = newIdempotencyKey()
    setKey(next)
    submit(next)
  }
  if (make.data) {
    const { token, token_id, expires_in, ops: granted, delegation } = make.data
    return (
      <Panel title={`${name || 'The token'} is made`}>
        <Secret
          parts={[
            { label: 'Token', text: token },
            ...(delegation ? [{ label: 'Delegation', text: JSON.stringify(delegation) }] : []),
          ]}
          onStored={onClose}
        >
          <p className="sm mut2">
            <span title={token_id} className="id">
              {shortId(token_id)}
            </span>{' '}
            may do {inWords(granted)}, for {span(expires_in * 1_000)}. It goes into the header{' '}
            <code>{make.data.header}</code>.
            {delegation &&
              ' The delegation is what its holder narrows it with; a program that only calls needs the token alone.'}
          </p>
        </Secret>
      </Panel>
    )
  }
  if (services.data && usable.length === 0)
    return (
      <Panel title="Mint a token" onClose={onClose}>
        <Empty title={`${tenant.name} has no service that is active`} command="loci services create my-agent">
          A token is for one service: make one first.
        </Empty>
      </Panel>
    )
  return (
    <Panel title="Mint a token" onClose={onClose}>
      <form
        className="grid fields"
        // What is asked for now is another thing than what was asked for before.
        onChange={() => make.isError && setKey(newIdempotencyKey())}
        onSubmit={(event) => {
          event.preventDefault()
          submit()
        }}
      >
        <label className="field">
          <span className="label">Name</span>
          <input
            name="name"
            className="in"
            maxLength={100}
            autoComplete="off"
            placeholder="agent-prod"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </label>
        <label className="field">
          <span className="label">Service</span>
          <select className="in" value={service?.id} onChange={({ target }) => setService(target.value)}>
            {usable.map(({ id, name: label }) => (
              <option key={id} value={id}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <fieldset className="field">
          <legend>For</legend>
          <div className="ops">
            {PRESETS.map(({ id, label, about, has }) => (
              <label key={id} className="op" title={about}>
                <input
                  type="radio"
                  name="preset"
                  checked={!chosen && (preset ?? 'agent') === id}
                  disabled={id === 'operator' ? !can('operator') : !ALL.some((op) => has(op) && can(op))}
                  onChange={() => {
                    setPreset(id)
                    setChosen(undefined)
                  }}
                />
                {label}
              </label>
            ))}
          </div>
          <span className="sm mut">
            {chosen ? 'chosen one by one' : PRESETS.find(({ id }) => id === (preset ?? 'agent'))?.about}
          </span>
        </fieldset>
        <details className="sm">
          <summary className="mut2">
            {ops.length} rights: {inWords(ops)}
          </summary>
          <Rights
            ops={shown}
            isOn={(op) => ops.includes(op)}
            whyNot={(op) => whyNot(op, bounds)}
            onToggle={(op) => setChosen(new Set(ops.includes(op) ? ops.filter((one) => one !== op) : [...ops, op]))}
          />
        </details>
        <div className="grid two">
          <label className="field">
            <span className="label">Databases</span>
            <select className="in" value={where} onChange={({ target }) => setWhere(target.value as typeof where)}>
              <option value="default">default</option>
              <option value="all">all of them</option>
              <option value="some">some…</option>
            </select>
          </label>
          <label className="field">
            <span className="label">Good for</span>
            <select className="in" value={seconds} onChange={({ target }) => setSeconds(Number(target.value))}>
              {TIMES.map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        </div>
        {where === 'some' && (
          <label className="field">
            <span className="label">Which, one per line</span>
            <textarea
              className="in code"
              rows={3}
              required
              value={databases}
              onChange={({ target }) => setDatabases(target.value)}
            />
          </label>
        )}
        <label className="field">
          <span className="label">May be narrowed by its holder</span>
          <select
            className="in"
            value={isOperator ? 0 : depth}
            disabled={isOperator}
            onChange={({ target }) => setDepth(Number(target.value))}
          >
            {DEPTHS.map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
          <span className="sm mut">
            {isOperator ? 'Operator rights can’t be handed on.' : 'For sub-agents: with less, for a shorter time.'}
          </span>
        </label>
        {make.error &&
          (withheldId(make.error) === undefined ? (
            <Trouble error={make.error} isWrite onRetry={() => submit()} />
          ) : (
            <Withheld error={make.error} what="token" end={(id) => revokeToken(api, tenant.id, id)} onAnew={anew} />
          ))}
        <div className="row">
          <button type="submit" className="btn p" disabled={make.isPending || !service || ops.length === 0}>
            {make.isPending ? 'Asking…' : 'Mint it'}
          </button>
          <button type="button" className="btn q" onClick={onClose}>
            Cancel
          </button>
        </div>
        <CommandLine>loci tokens create</CommandLine>
      </form>
    </Panel>
  )
}

function namesOf(text: string): string[] {
  return [...new Set(text.split(/[\s,]+/).filter((name) => name !== ''))]
}
