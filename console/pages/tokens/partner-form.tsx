import type { PartnerCredentialRequest } from '@loci/sdk/management.ts'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { servicesQuery } from '../../api/services.ts'
import { DEFAULT_DATABASE } from '../../frame/service.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Withheld, withheldId } from '../../parts/withheld.tsx'
import { credentialsChanged, deletePartner, makePartner } from './queries.ts'

const DAY_S = 86_400
const ENDS = [
  [90 * DAY_S, 'in 90 days'],
  [365 * DAY_S, 'in a year'],
  [0, 'never'],
] as const

export function MakePartner({ onClose }: { onClose(): void }) {
  const api = useApi()
  const { data: services = [] } = useQuery(servicesQuery(api))
  const usable = services.filter(({ status, service_type_id }) => status === 'active' && service_type_id !== 'kv')
  const [serviceId, setService] = useState<string>()
  const [name, setName] = useState('')
  const [database, setDatabase] = useState(DEFAULT_DATABASE)
  const [ends, setEnds] = useState<number>(365 * DAY_S)
  const [key, setKey] = useState(newIdempotencyKey)
  const service = usable.find(({ id }) => id === serviceId) ?? usable[0]
  const make = useMutation({
    gcTime: 0,
    mutationFn: (given: { serviceId: string; body: PartnerCredentialRequest; key: string }) =>
      makePartner(api, given.serviceId, given.body, given.key),
    onSuccess: () => void credentialsChanged(api),
  })
  const submit = (withKey = key) => {
    if (!service) return
    const body = { name: name.trim(), database: database.trim(), ...(ends === 0 ? {} : { expires_in: ends }) }
    make.mutate({ serviceId: service.id, body, key: withKey })
  }
  if (make.data)
    return (
      <Panel title={`${make.data.name} is made`}>
        <Secret parts={[{ label: 'Token', text: make.data.token }]} onStored={onClose} />
      </Panel>
    )
  return (
    <Panel title="New partner credential" onClose={onClose}>
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
            placeholder="crm"
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
          {usable.length === 0 && <span className="sm mut">No service is active that could be told something.</span>}
        </label>
        <div className="grid two">
          <label className="field">
            <span className="label">Database</span>
            <input
              className="in code"
              required
              maxLength={64}
              autoComplete="off"
              value={database}
              onChange={({ target }) => setDatabase(target.value)}
            />
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
              what="credential"
              end={(id) => deletePartner(api, { serviceId: service?.id ?? '', id })}
              onAnew={() => {
                const next = newIdempotencyKey()
                setKey(next)
                submit(next)
              }}
            />
          ))}
        <div className="row">
          <button type="submit" className="btn p" disabled={make.isPending || !service}>
            {make.isPending ? 'Asking…' : 'Make it'}
          </button>
          <button type="button" className="btn q" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Panel>
  )
}
