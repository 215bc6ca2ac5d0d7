// Before a member is removed: all that ends with them, counted over every tenant and service.

import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useApi } from '../../api/api.ts'
import { apiKeysQuery, grantsQuery, partnersQuery } from '../../api/credentials.ts'
import { endsWith, sentenceOf } from '../../api/made.ts'
import { type Member, nameOf } from '../../api/members.ts'
import { servicesQuery } from '../../api/services.ts'
import { tenantsQuery } from '../../api/tenants.ts'
import { shortId } from '../../format.ts'
import { Panel } from '../../parts/panel.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'
import { useNow } from '../../parts/time.tsx'
import { allTokensQuery, invitationsQuery, membersChanged, removeMember } from './queries.ts'

export function RemoveMember({ member, onClose }: { member: Member; onClose(): void }) {
  const api = useApi()
  const now = useNow(10_000)
  const [isListed, list] = useState(false)
  const tenants = useQuery(tenantsQuery(api))
  const services = useQuery(servicesQuery(api))
  const keys = useQuery(apiKeysQuery(api))
  const tokens = useQuery(
    allTokensQuery(
      api,
      tenants.data?.map(({ id }) => id),
    ),
  )
  const partners = useQuery(
    partnersQuery(
      api,
      services.data?.map(({ id }) => id),
    ),
  )
  const grants = useQuery(grantsQuery(api))
  const invitations = useQuery(invitationsQuery(api, true))
  const asked = [keys, tokens, partners, grants, invitations]
  const failed = [tenants, services, ...asked].find(({ error }) => error)
  const isKnown = asked.every(({ data }) => data !== undefined)
  const remove = useMutation({
    mutationFn: () => removeMember(api, member.user_id),
    onSuccess: async () => {
      await membersChanged(api)
      onClose()
    },
  })
  const ends = endsWith(
    {
      apiKeys: keys.data?.items ?? [],
      tokens: tokens.data?.items ?? [],
      partners: partners.data?.items ?? [],
      invitations: invitations.data?.items ?? [],
      grants: grants.data?.items ?? [],
    },
    { ids: [member.user_id], now },
  )
  const sentence = sentenceOf(ends)
  const lines = [
    ...ends.apiKeys.map(({ id, name }) => ['API key', name, id] as const),
    ...ends.tokens.map(({ token_id, name }) => ['token', name ?? shortId(token_id), token_id] as const),
    ...ends.partners.map(({ id, name }) => ['partner credential', name, id] as const),
    ...ends.invitations.map(({ id, email }) => ['invitation', email, id] as const),
    ...ends.grants.map(({ id, client_name }) => ['client', client_name, id] as const),
  ]
  return (
    <Panel title={`Remove ${nameOf(member)}?`} onClose={onClose}>
      {failed ? (
        <Trouble error={failed.error} onRetry={() => void failed.refetch()} />
      ) : isKnown ? (
        <p className="mut2" role="status">
          {sentence ? (
            <>
              With {nameOf(member)} end <b className="b5 ink">{sentence}</b>.{' '}
              <button type="button" className="link" aria-expanded={isListed} onClick={() => list(!isListed)}>
                {isListed ? 'Hide them' : 'See them'}
              </button>
            </>
          ) : (
            `${nameOf(member)} made nothing that is still good. Only the membership ends.`
          )}{' '}
          Services and memories stay.
        </p>
      ) : (
        <Loaded of={{ data: undefined, error: null, dataUpdatedAt: 0, refetch: () => {} }} rows={2}>
          {() => null}
        </Loaded>
      )}
      {isListed && (
        <ul className="ends">
          {lines.map(([what, name, id]) => (
            <li key={id} className="row">
              <span className="mut">{what}</span> <b className="b5">{name}</b>
              <span className="grow" />
              <span className="id" title={id}>
                {shortId(id)}
              </span>
            </li>
          ))}
        </ul>
      )}
      {remove.error && <Trouble error={remove.error} isWrite onRetry={() => remove.mutate()} />}
      <div className="row">
        <button type="button" className="btn d" disabled={remove.isPending || !isKnown} onClick={() => remove.mutate()}>
          {remove.isPending ? 'Asking…' : 'Remove'}
        </button>
        <button type="button" className="btn q" onClick={onClose}>
          Keep
        </button>
      </div>
    </Panel>
  )
}
