// API keys: what programs call management with. All of the organization for who manages keys, else one's own.

import { type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useRef, useState } from 'react'
import { useApi } from '../../api/api.ts'
import { type ApiKey, partnersQuery, tokensQuery } from '../../api/credentials.ts'
import type { Whole } from '../../api/every-page.ts'
import { endsWith, sentenceOf } from '../../api/made.ts'
import { membersQuery, nameOf } from '../../api/members.ts'
import { servicesQuery } from '../../api/services.ts'
import { tenantsQuery } from '../../api/tenants.ts'
import { count, shortId } from '../../format.ts'
import { useRowKeys } from '../../keys/rows.ts'
import { CommandLine } from '../../parts/copy.tsx'
import { Panel } from '../../parts/panel.tsx'
import { useMay } from '../../parts/right.tsx'
import { Empty, Loaded, Trouble } from '../../parts/states.tsx'
import { Ago, useNow } from '../../parts/time.tsx'
import { MakeKey, RotateKey } from './key-forms.tsx'
import { credentialsChanged, deleteKey } from './queries.ts'

const route = getRouteApi('/o/tokens')

export function Keys({ keys }: { keys: UseQueryResult<Whole<ApiKey>> }) {
  const { act, id } = route.useSearch()
  const navigate = route.useNavigate()
  const table = useRef<HTMLTableElement>(null)
  useRowKeys(table)
  const close = () => void navigate({ search: { tab: 'keys' } })
  const picked = keys.data?.items.find((key) => key.id === id)
  const isOpen = act === 'make' || (picked !== undefined && act !== undefined)
  return (
    <div className={`grid${isOpen ? ' with-asked' : ''}`}>
      <section className="card">
        <Loaded of={keys} rows={5}>
          {({ items, isCut }) =>
            items.length === 0 ? (
              <Empty
                title="No API key yet"
                command="loci keys create ci"
                action={
                  <Link to="/o/tokens" search={{ tab: 'keys', act: 'make' }} className="btn p">
                    New API key
                  </Link>
                }
              >
                A program that makes services or tokens calls management with a key of its own. It never has more rights
                than the person who made it.
              </Empty>
            ) : (
              <>
                <table ref={table} className="t tk">
                  <thead>
                    <tr>
                      <th>Name</th>
                      <th className="hide-s">Id</th>
                      <th>May</th>
                      <th className="hide-s">Tenants</th>
                      <th className="num">Expires</th>
                      <th className="num hide-s">Used</th>
                      <th />
                    </tr>
                  </thead>
                  <tbody>
                    {items.map((key) => (
                      <Row key={key.id} apiKey={key} isOn={key.id === id} />
                    ))}
                  </tbody>
                </table>
                <div className="b sm mut under">
                  What a key made ends with it: other keys, tokens, credentials of partners, open invitations.
                  {isCut && ' Only the newest are shown.'}
                  <p className="row wrap by-command">
                    <span>The same from a shell</span>
                    <CommandLine>loci keys list</CommandLine>
                  </p>
                </div>
              </>
            )
          }
        </Loaded>
      </section>
      {isOpen && (
        <aside className="grid" aria-label="What is being done">
          {act === 'make' && <MakeKey onClose={close} />}
          {act === 'rotate' && picked && <RotateKey key={picked.id} apiKey={picked} onClose={close} />}
          {act === 'revoke' && picked && (
            <DeleteKey key={picked.id} apiKey={picked} all={keys.data?.items ?? []} onClose={close} />
          )}
        </aside>
      )}
    </div>
  )
}

function Row({ apiKey, isOn }: { apiKey: ApiKey; isOn: boolean }) {
  const { id, name, user_id, scopes, tenant_ids, expires_at, last_used_at, previous_until } = apiKey
  const api = useApi()
  const now = useNow(60_000)
  const { data: members } = useQuery(membersQuery(api))
  const maker = members?.items.find((member) => member.user_id === user_id)
  const mayAll = useMay('keys:write')
  const isOwn = user_id === api.me.userId
  return (
    <tr className={isOn ? 'on' : ''}>
      <td>
        <b className="b5">{name}</b>
        <div className="xs mut">by {maker ? nameOf(maker) : shortId(user_id)}</div>
        {previous_until && Date.parse(previous_until) > now && (
          <div className="xs mut">
            its old secret ends <Ago at={previous_until} />
          </div>
        )}
      </td>
      <td className="hide-s">
        <span className="id" title={id}>
          {shortId(id)}
        </span>
      </td>
      <td className="mut2">
        <span title={scopes.join(', ')}>{scopesInWords(scopes, api.organization.scopes)}</span>
      </td>
      <td className="hide-s mut2">{tenant_ids === null ? 'all' : count(tenant_ids.length)}</td>
      <td className="num">{expires_at ? <Ago at={expires_at} /> : <span className="mut">never</span>}</td>
      <td className="num mut2 hide-s">{last_used_at ? <Ago at={last_used_at} /> : '–'}</td>
      <td className="num nowrap">
        {isOwn && (
          <>
            <Link to="/o/tokens" search={{ tab: 'keys', act: 'rotate', id }} className="why">
              Rotate
            </Link>{' '}
            &nbsp;
          </>
        )}
        {(isOwn || mayAll) && (
          <Link to="/o/tokens" search={{ tab: 'keys', act: 'revoke', id }} className="why" data-row>
            Delete
          </Link>
        )}
      </td>
    </tr>
  )
}

function scopesInWords(scopes: readonly string[], own: readonly string[]): string {
  if (scopes.length >= own.length && own.every((scope) => scopes.includes(scope)))
    return scopes.includes('staff') ? 'all that you may, and staff' : 'all that you may'
  return scopes.length <= 2 ? scopes.join(', ') : `${scopes[0]} and ${scopes.length - 1} more`
}

function DeleteKey({ apiKey, all, onClose }: { apiKey: ApiKey; all: ApiKey[]; onClose(): void }) {
  const api = useApi()
  const now = useNow(10_000)
  const [made, setMade] = useState<'delete' | 'keep'>('delete')
  const { data: tenants } = useQuery(tenantsQuery(api))
  const { data: services } = useQuery(servicesQuery(api))
  const tokens = useQuery(tokensQuery(api, tenants?.[0]?.id))
  const partners = useQuery(
    partnersQuery(
      api,
      services?.map(({ id }) => id),
    ),
  )
  const ends = endsWith(
    {
      apiKeys: all,
      tokens: tokens.data?.items ?? [],
      partners: partners.data?.items ?? [],
      ...{ invitations: [], grants: [] },
    },
    { ids: [apiKey.id], now },
  )
  const sentence = sentenceOf(ends)
  const others = (tenants?.length ?? 1) - 1
  const remove = useMutation({
    mutationFn: () => deleteKey(api, apiKey.id, made),
    onSuccess: async () => {
      await credentialsChanged(api)
      onClose()
    },
  })
  return (
    <Panel title={`Delete ${apiKey.name}?`} onClose={onClose}>
      <p className="sm mut2">
        It stops working at once. {apiKey.last_used_at ? '' : 'It was never used. '}
        {sentence ? (
          <b className="b5 ink">{`It made ${sentence}.`}</b>
        ) : (
          'Nothing that is listed here was made with it.'
        )}
        {others > 0 && ` What it made in ${others === 1 ? 'another tenant' : 'other tenants'} counts too.`}
      </p>
      <fieldset className="field">
        <legend>What it made</legend>
        <label className="row">
          <input type="radio" name="made" checked={made === 'delete'} onChange={() => setMade('delete')} />
          ends with it
        </label>
        <label className="row">
          <input type="radio" name="made" checked={made === 'keep'} onChange={() => setMade('keep')} />
          stays: somebody still needs it
        </label>
      </fieldset>
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
