// A new API key, or a new secret for one. Both outlive the session, so they may need a sign-in once more; what was
// typed stays meanwhile (parts/sign-in-again.tsx).

import type { ApiKeyMake } from '@loci/sdk/management.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import type { ApiKey } from '../../api/credentials.ts'
import { tenantsQuery } from '../../api/tenants.ts'
import { day, shortId } from '../../format.ts'
import { CommandLine } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Withheld, withheldId } from '../../parts/withheld.tsx'
import { usePreferences } from '../../preferences.ts'
import { credentialsChanged, deleteKey, makeKey, rotateKey } from './queries.ts'

const DAY_S = 86_400
const ENDS = [
  [30 * DAY_S, 'in 30 days'],
  [90 * DAY_S, 'in 90 days'],
  [365 * DAY_S, 'in a year'],
  [0, 'never'],
] as const
const OVERLAPS = [
  [0, 'at once'],
  [3_600, 'in an hour'],
  [DAY_S, 'in a day'],
  [7 * DAY_S, 'in 7 days'],
] as const

export function MakeKey({ onClose }: { onClose(): void }) {
  const api = useApi()
  const { zone } = usePreferences()
  const { scopes: own, role } = api.organization
  const { data: tenants = [] } = useQuery(tenantsQuery(api))
  const [name, setName] = useState('')
  const [scopes, setScopes] = useState<readonly string[]>(() => own.filter((scope) => scope.endsWith(':read')))
  const [tenantId, setTenant] = useState('')
  const [ends, setEnds] = useState<number>(90 * DAY_S)
  const [key, setKey] = useState(newIdempotencyKey)
  const make = useMutation({
    gcTime: 0,
    mutationFn: (given: { body: ApiKeyMake; key: string }) => makeKey(api, given.body, given.key),
    onSuccess: () => void credentialsChanged(api),
  })
  const submit = (withKey = key) => {
    const body = {
      name: name.trim(),
      scopes: [...scopes],
      ...(tenantId === '' ? {} : { tenant_ids: [tenantId] }),
      ...(ends === 0 ? {} : { expires_in: ends }),
    } as ApiKeyMake
    make.mutate({ body, key: withKey })
  }
  if (make.data)
    return (
      <Panel title={`${make.data.name} is made`}>
        <Secret parts={[{ label: 'API key', text: make.data.secret }]} onStored={onClose}>
          <p className="sm mut2">
            <span className="id" title={make.data.id}>
              {shortId(make.data.id)}
            </span>
            {make.data.expires_at ? ` ends on ${day(make.data.expires_at, zone)}.` : ' does not expire.'} It goes into
            the header <code>x-api-key</code>.
          </p>
        </Secret>
      </Panel>
    )
  return (
    <Panel title="New API key" onClose={onClose}>
      <form
        className="grid fields"
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
            required
            maxLength={100}
            autoComplete="off"
            placeholder="ci"
            value={name}
            onChange={({ target }) => setName(target.value)}
          />
        </label>
        <fieldset className="field">
          <legend>May</legend>
          <div className="ops">
            {own.map((scope) => (
              <label key={scope} className="op">
                <input
                  type="checkbox"
                  checked={scopes.includes(scope)}
                  onChange={() =>
                    setScopes(scopes.includes(scope) ? scopes.filter((one) => one !== scope) : [...scopes, scope])
                  }
                />
                {scopes.includes(scope) && <Icon name="check" />}
                <code>{scope}</code>
              </label>
            ))}
          </div>
          <span className="sm mut">These are what the role {role} has; the key loses what you lose.</span>
        </fieldset>
        <div className="grid two">
          <label className="field">
            <span className="label">Tenants</span>
            <select className="in" value={tenantId} onChange={({ target }) => setTenant(target.value)}>
              <option value="">all of them</option>
              {tenants.map((tenant) => (
                <option key={tenant.id} value={tenant.id}>
                  {tenant.name}
                </option>
              ))}
            </select>
          </label>
          <label className="field">
            <span className="label">Ends</span>
            <select className="in" value={ends} onChange={({ target }) => setEnds(Number(target.value))}>
              {ENDS.map(([seconds, label]) => (
                <option key={seconds} value={seconds}>
                  {label}
                </option>
              ))}
            </select>
          </label>
        </div>
        {make.error &&
          (withheldId(make.error) === undefined ? (
            <Trouble error={make.error} isWrite onRetry={() => submit()} />
          ) : (
            <Withheld
              error={make.error}
              what="key"
              end={(id) => deleteKey(api, id)}
              onAnew={() => {
                const next = newIdempotencyKey()
                setKey(next)
                submit(next)
              }}
            />
          ))}
        <div className="row">
          <button type="submit" className="btn p" disabled={make.isPending || scopes.length === 0}>
            {make.isPending ? 'Asking…' : 'Make it'}
          </button>
          <button type="button" className="btn q" onClick={onClose}>
            Cancel
          </button>
        </div>
        <CommandLine>loci keys create ci</CommandLine>
      </form>
    </Panel>
  )
}

export function RotateKey({ apiKey, onClose }: { apiKey: ApiKey; onClose(): void }) {
  const api = useApi()
  const [overlap, setOverlap] = useState<number>(DAY_S)
  const [key, setKey] = useState(newIdempotencyKey)
  const rotate = useMutation({
    gcTime: 0,
    mutationFn: (withKey: string) => rotateKey(api, apiKey.id, overlap, withKey),
    onSuccess: () => void credentialsChanged(api),
  })
  if (rotate.data)
    return (
      <Panel title={`${apiKey.name} has a new secret`}>
        <Secret parts={[{ label: 'API key', text: rotate.data.secret }]} onStored={onClose} />
      </Panel>
    )
  return (
    <Panel title={`A new secret for ${apiKey.name}?`} onClose={onClose}>
      <label className="field">
        <span className="label">The old one ends</span>
        <select
          className="in"
          value={overlap}
          onChange={({ target }) => {
            setOverlap(Number(target.value))
            setKey(newIdempotencyKey())
          }}
        >
          {OVERLAPS.map(([seconds, label]) => (
            <option key={seconds} value={seconds}>
              {label}
            </option>
          ))}
        </select>
        <span className="sm mut">Until then both work, so that nothing has to stop.</span>
      </label>
      {rotate.error &&
        (withheldId(rotate.error) === undefined ? (
          <Trouble error={rotate.error} isWrite onRetry={() => rotate.mutate(key)} />
        ) : (
          // Another rotation is another secret: the one that nobody saw ends by it.
          <Withheld
            error={rotate.error}
            what="secret"
            end={async () => undefined}
            onAnew={() => {
              const next = newIdempotencyKey()
              setKey(next)
              rotate.mutate(next)
            }}
          />
        ))}
      <div className="row">
        <button type="button" className="btn p" disabled={rotate.isPending} onClick={() => rotate.mutate(key)}>
          {rotate.isPending ? 'Asking…' : 'Make a new secret'}
        </button>
        <button type="button" className="btn q" onClick={onClose}>
          Keep the old one
        </button>
      </div>
    </Panel>
  )
}
