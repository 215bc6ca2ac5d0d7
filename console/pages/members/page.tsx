// Who belongs to the organization, what a role may do, and who was invited.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../api/api.ts'
import { membersQuery } from '../../api/members.ts'
import { Card } from '../../parts/card.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { NoRight, useMay } from '../../parts/right.tsx'
import { Loaded } from '../../parts/states.tsx'
import { InviteForm } from './invite.tsx'
import { Invited } from './invited.tsx'
import './members.css'
import { invitationsQuery } from './queries.ts'
import { RemoveMember } from './remove.tsx'
import { LINES, may, ROLES_SHOWN } from './roles.ts'
import { MemberRow } from './row.tsx'

const route = getRouteApi('/o/members')

export function Page() {
  const api = useApi()
  const { act, id } = route.useSearch()
  const navigate = route.useNavigate()
  const mayWrite = useMay('members:write')
  const members = useQuery(membersQuery(api))
  const invitations = useQuery(invitationsQuery(api, mayWrite))
  // An invitation of an address that was invited before: its link is lost, so it is made anew.
  const [again, setAgain] = useState<{ email: string; role: string }>()
  const close = () => {
    setAgain(undefined)
    void navigate({ search: {} })
  }
  const picked = members.data?.items.find(({ user_id }) => user_id === id)
  const number = members.data?.items.length
  const open = invitations.data?.items.length ?? 0
  return (
    <>
      <Head
        title="Members"
        sub={number !== undefined && `${number} in ${api.organization.name}${open > 0 ? `, ${open} invited` : ''}`}
      >
        {mayWrite && (
          <Link to="/o/members" search={{ act: 'invite' }} className="btn p">
            <Icon name="add" />
            Invite
          </Link>
        )}
      </Head>
      <div className="grid members">
        <div className="grid">
          {act === 'invite' &&
            (mayWrite ? (
              <InviteForm key={again?.email} given={again} onClose={close} />
            ) : (
              <section className="card">
                <NoRight title="Only owners invite" right="members:write" />
              </section>
            ))}
          {act === 'remove' && picked && mayWrite && (
            <RemoveMember key={picked.user_id} member={picked} onClose={close} />
          )}
          <section className="card">
            <Loaded of={members} rows={4}>
              {({ items, isCut }) => (
                <>
                  <table className="t people">
                    <thead>
                      <tr>
                        <th>Person</th>
                        <th>Role</th>
                        <th className="hide-s">Since</th>
                        <th />
                      </tr>
                    </thead>
                    <tbody>
                      {items.map((member) => (
                        <MemberRow key={member.user_id} member={member} isOn={member.user_id === id} />
                      ))}
                    </tbody>
                  </table>
                  {isCut && <p className="b sm mut under">There are more; these are the first.</p>}
                </>
              )}
            </Loaded>
          </section>
          {mayWrite && (
            <Invited
              invitations={invitations}
              onAgain={(given) => {
                setAgain(given)
                void navigate({ search: { act: 'invite' } })
              }}
            />
          )}
        </div>
        <Card title="What a role may do" flush>
          <table className="t may">
            <thead>
              <tr>
                <th>
                  <span className="sr">What</span>
                </th>
                {ROLES_SHOWN.map((role) => (
                  <th key={role}>{role}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {LINES.map((line) => (
                <tr key={line.label}>
                  <td>{line.label}</td>
                  {ROLES_SHOWN.map((role) => (
                    <td key={role}>
                      {may(role, line) ? (
                        <span className="st ok">
                          <Icon name="check" />
                          <span className="sr">yes</span>
                        </span>
                      ) : (
                        <span className="mut">
                          <span aria-hidden="true">–</span>
                          <span className="sr">no</span>
                        </span>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Card>
      </div>
    </>
  )
}
