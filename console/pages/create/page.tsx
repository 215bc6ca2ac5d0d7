// A service is made: what it is, its name and place, then the steps that it really takes, and how to connect.

import type { CreateServiceRequest } from '@loci/sdk/management.ts'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { organizationKey } from '../../api/cache.ts'
import { servicesQuery } from '../../api/services.ts'
import { Card } from '../../parts/card.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Connect } from './connect.tsx'
import './create.css'
import { CreateForm } from './form.tsx'
import { createService, isOver, operationQuery } from './queries.ts'
import { Steps } from './steps.tsx'

const route = getRouteApi('/services/new')

export function Page() {
  const api = useApi()
  const cache = useQueryClient()
  const { op } = route.useSearch()
  const navigate = route.useNavigate()
  // Of this one creation: made when it is asked for, and the same whenever it is asked for again.
  const [key, setKey] = useState(newIdempotencyKey)
  const create = useMutation({
    mutationFn: (body: CreateServiceRequest) => createService(api, body, key),
    onSuccess: ({ operationId }) => {
      void cache.invalidateQueries({ queryKey: organizationKey(api, 'services') })
      void navigate({ search: { op: operationId }, replace: true })
    },
  })
  const operation = useQuery(operationQuery(api, op))
  const services = useQuery(servicesQuery(api))
  const serviceId = operation.data?.service_id
  const service = services.data?.find(({ id }) => id === serviceId)
  const isMade = operation.data !== undefined && isOver(operation.data) && operation.data.status === 'succeeded'
  const again = () => {
    setKey(newIdempotencyKey())
    create.reset()
    void navigate({ search: { op: undefined } })
  }
  return (
    <>
      <Head title="Create a service" sub="Leaving is safe: it stays in the list and goes on" />
      <div className="grid create">
        <CreateForm
          isBusy={create.isPending}
          isDone={op !== undefined}
          error={create.error}
          // What is asked for now is another thing than what was asked for before.
          onChange={() => create.isError && setKey(newIdempotencyKey())}
          onSubmit={(body) => create.mutate(body)}
          onAgain={again}
        />
        <div className="grid">
          {create.error ? (
            <Card title="3. Being made">
              <Trouble
                error={create.error}
                isWrite
                onRetry={() => create.variables && create.mutate(create.variables)}
              />
            </Card>
          ) : (
            <Steps
              operation={operation}
              isAsked={op !== undefined || create.isPending}
              estimateS={create.data?.estimated_ready_in}
            />
          )}
          {isMade && service ? (
            <Connect service={service} />
          ) : (
            <Card title="Then: connect" aside="shown when it is active">
              <p className="mut2">An agent connects by MCP, by a library, or by HTTP with a token of its own.</p>
              <p className="row wrap by-command">
                <span className="sm mut">The same from a shell</span>
                <CommandLine>loci services create my-agent</CommandLine>
              </p>
            </Card>
          )}
        </div>
      </div>
    </>
  )
}
