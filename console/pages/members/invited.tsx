// Who was invited and has not come yet. The link of an invitation can't be shown again; a new one replaces it.

import type { InvitationList } from '@loci/sdk/management.ts'
import { type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.ts'
import { apiKeysQuery } from '../../api/credentials.ts'
import type { Whole } from '../../api/every-page.ts'
import { membersQuery, nameOf } from '../../api/members.ts'
import { shortId } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Loaded, Trouble } from '../../parts/states.tsx'
import { Ago } from '../../parts/time.tsx'
import { membersChanged, withdraw } from './queries.ts'

type Invitation = InvitationList['invitations'][number]

interface InvitedProps {
  invitations: UseQueryResult<Whole<Invitation>>
  onAgain(given: { email: string; role: string }): void
}

export function Invited({ invitations, onAgain }: InvitedProps) {
  return (
    <Card title="Invited" flush>
      <Loaded of={invitations} rows={1}>
        {({ items }) =>
          items.length === 0 ? (
            <p className="b sm mut">Nobody is invited now. An invitation is good for seven days.</p>
          ) : (
            <table className="t">
              <tbody>
                {items.map((invitation) => (
                  <Row key={invitation.id} invitation={invitation} onAgain={onAgain} />
                ))}
              </tbody>
            </table>
          )
        }
      </Loaded>
    </Card>
  )
}

function Row({ invitation, onAgain }: { invitation: Invitation; onAgain: InvitedProps['onAgain'] }) {
  const { id, email, role, invited_by, created_at, expires_at } = invitation
  const api = useApi()
  const { data: members } = useQuery(membersQuery(api))
  const { data: keys } = useQuery(apiKeysQuery(api))
  const by = members?.items.find(({ user_id }) => user_id === invited_by)
  const key = keys?.items.find((one) => one.id === invited_by)
  const who = by ? nameOf(by) : key ? `the key ${key.name}` : shortId(invited_by)
  const end = useMutation({ mutationFn: () => withdraw(api, id), onSuccess: () => membersChanged(api) })
  return (
    <>
      <tr>
        <td className="who-is">{email}</td>
        <td>{role}</td>
        <td className="mut2 hide-s">
          by {who}, <Ago at={created_at} /> · link ends <Ago at={expires_at} />
        </td>
        <td className="num nowrap">
          <button type="button" className="why" onClick={() => onAgain({ email, role })}>
            New link
          </button>{' '}
          &nbsp;
          <button type="button" className="why" disabled={end.isPending} onClick={() => end.mutate()}>
            Withdraw
          </button>
        </td>
      </tr>
      {end.error && (
        <tr>
          <td colSpan={4}>
            <Trouble error={end.error} isWrite onRetry={() => end.mutate()} />
          </td>
        </tr>
      )}
    </>
  )
}
