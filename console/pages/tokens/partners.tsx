// Partner credentials: for systems that tell a service what happened, and ask it for advice. Each is for one database.

import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import type { PartnerCredential } from '../../api/credentials.ts'
import type { Whole } from '../../api/every-page.ts'
import { servicesQuery } from '../../api/services.ts'
import { shortId } from '../../format.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { Panel } from '../../parts/panel.tsx'
import { NoRight, useMay } from '../../parts/right.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Empty, Loaded, type Shown, Trouble } from '../../parts/states.tsx'
import { Ago } from '../../parts/time.tsx'
import { Withheld, withheldId } from '../../parts/withheld.tsx'
import { MakePartner } from './partner-form.tsx'
import { credentialsChanged, deletePartner, rotatePartner } from './queries.ts'

const route = getRouteApi('/o/tokens')

export function Partners({ partners }: { partners: Shown<Whole<PartnerCredential>> }) {
  const { act, id } = route.useSearch()
  const navigate = route.useNavigate()
  const mayWrite = useMay('services:write')
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  const close = () => void navigate({ search: { tab: 'partners' } })
  const picked = partners.data?.items.find((one) => one.id === id)
  const isOpen = act === 'make' || (picked !== undefined && act !== undefined)
  return (
    <div className={`grid${isOpen ? ' with-asked' : ''}`}>
      <section className="card">
        <Loaded of={partners} rows={4}>
          {({ items, isCut }) =>
            items.length === 0 ? (
              <Empty
                title="No partner yet"
                action={
                  mayWrite && (
                    <Link to="/o/tokens" search={{ tab: 'partners', act: 'make' }} className="btn p">
                      New credential
                    </Link>
                  )
                }
              >
                A partner is a system that tells a service what happened elsewhere: an outcome of a tool, a fact, a
                preference. Its credential opens that and nothing else.
              </Empty>
            ) : (
              <>
                <table ref={table} className="t tk">
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th className="hide-s">Service</th>
                      <th>Database</th>
                      <th className="hide-s">May</th>
                      <th className="num">Expires</th>
                      <th className="num hide-s">Used</th>
                      <th />
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((partner) => (
                      <Row key={partner.id} partner={partner} isOn={partner.id === id} />
                    ))}
                  </tbody>
                </table>
                {isCut && <p className="b sm mut under">Only the newest are shown.</p>}
              </>
            )
          }
        </Loaded>
      </section>
      {isOpen && (
        <aside className="grid" aria-label="What is being done">
          {!mayWrite && <NoRight right="services:write" />}
          {mayWrite && act === 'make' && <MakePartner onClose={close} />}
          {mayWrite && act === 'rotate' && picked && <Rotate key={picked.id} partner={picked} onClose={close} />}
          {mayWrite && act === 'revoke' && picked && <Delete key={picked.id} partner={picked} onClose={close} />}
        </aside>
      )}
    </div>
  )
}

function Row({ partner, isOn }: { partner: PartnerCredential; isOn: boolean }) {
  const { id, name, service_id, partner: teller, database, routes, projection_classes } = partner
  const { data: services } = useQuery(servicesQuery(useApi()))
  const mayWrite = useMay('services:write')
  return (
    <tr className={isOn ? 'on' : ''}>
      <td>
        <b className="b5">{name}</b>
        <div className="xs mut">{teller === id ? shortId(id) : `tells as ${teller}`}</div>
      </td>
      <td className="hide-s mut2">{services?.find((one) => one.id === service_id)?.name ?? shortId(service_id)}</td>
      <td>
        <code>{database}</code>
      </td>
      <td className="hide-s mut2" title={projection_classes.join(', ')}>
        {routes.join(', ')}
      </td>
      <td className="num">
        {partner.expires_at ? <Ago at={partner.expires_at} /> : <span className="mut">never</span>}
      </td>
      <td className="num mut2 hide-s">{partner.last_used_at ? <Ago at={partner.last_used_at} /> : '–'}</td>
      <td className="num nowrap">
        {mayWrite && (
          <>
            <Link to="/o/tokens" search={{ tab: 'partners', act: 'rotate', id }} className="why">
              Rotate
            </Link>{' '}
            &nbsp;
            <Link to="/o/tokens" search={{ tab: 'partners', act: 'revoke', id }} className="why" data-row>
              Delete
            </Link>
          </>
        )}
      </td>
    </tr>
  )
}

function Rotate({ partner, onClose }: { partner: PartnerCredential; onClose(): void }) {
  const api = useApi()
  const [key, setKey] = useState(newIdempotencyKey)
  const of = { serviceId: partner.service_id, id: partner.id }
  const rotate = useMutation({
    gcTime: 0,
    mutationFn: (withKey: string) => rotatePartner(api, of, withKey),
    onSuccess: () => void credentialsChanged(api),
  })
  if (rotate.data)
    return (
      <Panel title={`${partner.name} has a new secret`}>
        <Secret parts={[{ label: 'Token', text: rotate.data.token }]} onStored={onClose} />
      </Panel>
    )
  return (
    <Panel title={`A new secret for ${partner.name}?`} onClose={onClose}>
      <p className="sm mut2">
        The old one ends at once, without an overlap. For one, make a second credential of the same partner and delete
        this one when the partner has changed over.
      </p>
      {rotate.error &&
        (withheldId(rotate.error) === undefined ? (
          <Trouble error={rotate.error} isWrite onRetry={() => rotate.mutate(key)} />
        ) : (
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
        <button type="button" className="btn d" disabled={rotate.isPending} onClick={() => rotate.mutate(key)}>
          {rotate.isPending ? 'Asking…' : 'Make a new secret'}
        </button>
        <button type="button" className="btn q" onClick={onClose}>
          Keep the old one
        </button>
      </div>
    </Panel>
  )
}

function Delete({ partner, onClose }: { partner: PartnerCredential; onClose(): void }) {
  const api = useApi()
  const remove = useMutation({
    mutationFn: () => deletePartner(api, { serviceId: partner.service_id, id: partner.id }),
    onSuccess: async () => {
      await credentialsChanged(api)
      onClose()
    },
  })
  return (
    <Panel title={`Delete ${partner.name}?`} onClose={onClose}>
      <p className="sm mut2">
        Every daemon refuses it within seconds. What it told stays.{' '}
        {partner.last_used_at ? (
          <>
            Used <Ago at={partner.last_used_at} />.
          </>
        ) : (
          'It was never used.'
        )}
      </p>
      {remove.error && <Trouble error={remove.error} isWrite onRetry={() => remove.mutate()} />}
      <div className="row">
        <button type="button" className="btn d" disabled={remove.isPending} onClick={() => remove.mutate()}>
          {remove.isPending ? 'Asking…' : 'Delete it'}
        </button>
        <button type="button" className="btn q" onClick={onClose}>
          Keep
        </button>
      </div>
    </Panel>
  )
}
