// An invitation: an address, a role, and a link that is shown once. loci sends no mail; whoever invites hands it over.

import type { InvitationMake } from '@loci/sdk/management.ts'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { newIdempotencyKey, useApi } from '../../api/api.ts'
import { Panel } from '../../parts/panel.tsx'
import { Secret } from '../../parts/secret.tsx'
import { Trouble } from '../../parts/states.tsx'
import { Moment } from '../../parts/time.tsx'
import { Withheld, withheldId } from '../../parts/withheld.tsx'
import { invite, membersChanged, withdraw } from './queries.ts'
import { LINES, may, ROLES_SHOWN } from './roles.ts'

type Role = InvitationMake['role']

export function InviteForm({
  given,
  onClose,
}: {
  given: { email: string; role: string } | undefined
  onClose(): void
}) {
  const api = useApi()
  const [email, setEmail] = useState(given?.email ?? '')
  const [role, setRole] = useState<Role>(ROLES_SHOWN.find((one) => one === given?.role) ?? 'member')
  const [key, setKey] = useState(newIdempotencyKey)
  const make = useMutation({
    gcTime: 0,
    mutationFn: (withKey: string) => invite(api, { email: email.trim(), role }, withKey),
    onSuccess: () => void membersChanged(api),
  })
  const line = LINES.findLast((one) => may(role, one))
  if (make.data)
    return (
      <Panel title={`${make.data.email} is invited`}>
        <Secret parts={[{ label: 'Link', text: make.data.link }]} onStored={onClose}>
          <p className="sm mut2">
            Send it to {make.data.email} yourself: loci sends no mail. It is good for that address alone, until{' '}
            <Moment at={make.data.expires_at} />.
          </p>
        </Secret>
      </Panel>
    )
  return (
    <Panel title={given ? `A new link for ${given.email}` : 'Invite somebody'} onClose={onClose}>
      <form
        className="grid fields"
        onChange={() => make.isError && setKey(newIdempotencyKey())}
        onSubmit={(event) => {
          event.preventDefault()
          make.mutate(key)
        }}
      >
        <div className="grid two">
          <label className="field">
            <span className="label">Their e-mail address</span>
            <input
              name="email"
              type="email"
              className="in"
              required
              maxLength={254}
              autoComplete="off"
              placeholder="sam@example.com"
              value={email}
              onChange={({ target }) => setEmail(target.value)}
            />
          </label>
          <label className="field">
            <span className="label">Role</span>
            <select className="in" value={role} onChange={({ target }) => setRole(target.value as Role)}>
              {ROLES_SHOWN.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
            <span className="sm mut">{line && `up to: ${line.label.toLowerCase()}`}</span>
          </label>
        </div>
        {given && <p className="sm mut2">The link that was made before stops working.</p>}
        {make.error &&
          (withheldId(make.error) === undefined ? (
            <Trouble error={make.error} isWrite onRetry={() => make.mutate(key)} />
          ) : (
            <Withheld
              error={make.error}
              what="link"
              end={(id) => withdraw(api, id)}
              onAnew={() => {
                const next = newIdempotencyKey()
                setKey(next)
                make.mutate(next)
              }}
            />
          ))}
        <div className="row">
          <button type="submit" className="btn p" disabled={make.isPending}>
            {make.isPending ? 'Asking…' : 'Make the link'}
          </button>
          <button type="button" className="btn q" onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Panel>
  )
}
