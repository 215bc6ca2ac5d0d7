// The service itself: what it is called, where it is, what its plan is.

import type { Service } from '@loci/sdk/management.ts'
import { type UseQueryResult, useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'
import { ServiceStatus } from '../../parts/status.tsx'
import { Moment } from '../../parts/time.tsx'
import { renameService } from './queries.ts'

export function Named({ detail }: { detail: UseQueryResult<Service> }) {
  const { service } = useService()
  return (
    <Card title="This service" aside={<ServiceStatus status={service.status} />} flush>
      <Loaded of={detail} rows={6}>
        {({ id, slug, endpoint, plan, region, service_type: type, created_at: createdAt }) => (
          <>
            <Name />
            <dl className="kv b">
              <dt>Short name</dt>
              <dd>
                <code>{slug}</code>
              </dd>
              <dt>Id</dt>
              <dd className="row wrap">
                <span className="id">{id}</span>
                <Copy text={id} />
              </dd>
              {endpoint && (
                <>
                  <dt>Endpoint</dt>
                  <dd className="row wrap">
                    <code>{endpoint}</code>
                    <Copy text={endpoint} />
                  </dd>
                </>
              )}
              <dt>Plan</dt>
              <dd>
                {plan} {hasPage('usage') && <Link to="/o/usage">Usage and billing</Link>}
              </dd>
              <dt>Region</dt>
              <dd>{region}</dd>
              <dt>Kind</dt>
              <dd>{type}</dd>
              <dt>Since</dt>
              <dd>
                <Moment at={createdAt} />
              </dd>
            </dl>
          </>
        )}
      </Loaded>
    </Card>
  )
}

function Name() {
  const { service } = useService()
  const api = useApi()
  const [name, setName] = useState(service.name)
  const [key, setKey] = useState(newIdempotencyKey)
  const rename = useMutation({
    mutationFn: () => renameService(api, service.id, name.trim(), key),
    onSuccess: () => setKey(newIdempotencyKey()),
  })
  const isChanged = name.trim() !== '' && name.trim() !== service.name
  return (
    <form
      className="b grid"
      onSubmit={(event) => {
        event.preventDefault()
        if (isChanged) rename.mutate()
      }}
    >
      <div className="row named">
        <label className="field grow">
          <span className="label">Name</span>
          <input
            className="in"
            maxLength={100}
            autoComplete="off"
            value={name}
            onChange={({ target }) => {
              // Another name is another write.
              setKey(newIdempotencyKey())
              setName(target.value)
            }}
          />
        </label>
        <button type="submit" className="btn" disabled={!isChanged || rename.isPending}>
          {rename.isPending ? 'Saving…' : 'Rename'}
        </button>
      </div>
      {rename.error && <Trouble error={rename.error} isWrite onRetry={() => rename.mutate()} />}
    </form>
  )
}
