// A member, and another role for one: asked for before it is done, because their API keys follow at once.

import type { MemberChange } from '@loci/sdk/management.ts'
import { useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useApi } from '../../api/api.ts'
import { type Member, nameOf } from '../../api/members.ts'
import { day } from '../../format.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { useMay } from '../../parts/right.tsx'
import { Trouble } from '../../parts/states.tsx'
import { usePreferences } from '../../preferences.ts'
import { changeRole, membersChanged } from './queries.ts'
import { LINES, may, ROLES_SHOWN } from './roles.ts'

type Role = MemberChange['role']

export function MemberRow({ member, isOn }: { member: Member; isOn: boolean }) {
  const { user_id, email, name, role, created_at } = member
  const api = useApi()
  const { zone } = usePreferences()
  const mayWrite = useMay('members:write')
  const [wanted, want] = useState<Role>()
  const isMe = user_id === api.me.userId
  const initials = (name ?? email)
    .split(/[\s@.]+/, 2)
    .map((word) => word[0] ?? '')
    .join('')
    .toUpperCase()
  return (
    <tr className={isOn ? 'on' : ''}>
      <td>
        <div className="row">
          <span className="ava" aria-hidden="true">
            {initials}
          </span>
          <div className="who-is">
            <b className="b5">{nameOf(member)}</b>
            {name && <div className="sm mut">{email}</div>}
          </div>
        </div>
      </td>
      <td>
        {mayWrite && !isMe ? (
          <select
            className="in role"
            aria-label={`Role of ${nameOf(member)}`}
            value={role}
            onChange={({ target }) => want(target.value as Role)}
          >
            {ROLES_SHOWN.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        ) : (
          role
        )}
      </td>
      <td className="mut2 hide-s nowrap">{day(created_at, zone)}</td>
      <td className="num">
        {isMe && <span className="sm mut">you</span>}
        {mayWrite && !isMe && (
          <Link to="/o/members" search={{ act: 'remove', id: user_id }} className="why">
            Remove
          </Link>
        )}
        {wanted && <ChangeRole member={member} role={wanted} onClose={() => want(undefined)} />}
      </td>
    </tr>
  )
}

function ChangeRole({ member, role, onClose }: { member: Member; role: Role; onClose(): void }) {
  const api = useApi()
  const change = useMutation({
    mutationFn: () => changeRole(api, member.user_id, { role }),
    onSuccess: async () => {
      await membersChanged(api)
      onClose()
    },
  })
  const from = ROLES_SHOWN.find((one) => one === member.role)
  const gained = LINES.filter((line) => may(role, line) && !(from && may(from, line)))
  const lost = LINES.filter((line) => from && may(from, line) && !may(role, line))
  const listed = (lines: typeof LINES) => lines.map(({ label }) => label.toLowerCase()).join('; ')
  return (
    <Dialog title={`${nameOf(member)}: ${member.role} → ${role}?`} onClose={onClose}>
      <p className="mut2 start">
        {gained.length > 0 && `May then: ${listed(gained)}. `}
        {lost.length > 0 && `Loses: ${listed(lost)}. Their API keys and clients lose it at once.`}
      </p>
      {change.error && <Trouble error={change.error} isWrite onRetry={() => change.mutate()} />}
      <div className="row">
        <button type="button" className="btn p" disabled={change.isPending} onClick={() => change.mutate()}>
          {change.isPending ? 'Asking…' : `Make ${role}`}
        </button>
        <button type="button" className="btn" onClick={onClose}>
          Keep {member.role}
        </button>
      </div>
    </Dialog>
  )
}
