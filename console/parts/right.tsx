// No right: which one it takes, the role that has it, and who can give it. Pages ask the session what its role may do
// before they offer something; the server decides all the same.

import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useContext } from 'react'
import { type Api, ApiContext, useApi } from '../api/api.ts'
import { membersQuery, nameOf } from '../api/members.ts'
import { Icon } from './icon.tsx'

const NAMED_MAX = 3

interface NoRightProps {
  title?: string
  /** The right, as scopes and operations are called. */
  right?: string
  /** What the server said. */
  children?: ReactNode
  /** Below it. */
  reference?: ReactNode
}

export function NoRight({ title = 'You may not do this', right, children, reference }: NoRightProps) {
  const api = useContext(ApiContext)
  return (
    <div className="b empty" role="alert">
      <Icon name="lock" />
      <strong>{title}</strong>
      <p>
        {api &&
          `You are ${api.organization.role === 'owner' || api.organization.role === 'admin' ? 'an' : 'a'} ${api.organization.role} of ${api.organization.name}. `}
        {right && (
          <>
            It takes the right <code>{right}</code>.{' '}
          </>
        )}
        {children}
      </p>
      {right === 'staff' ? (
        <p className="sm mut">Whoever runs this installation gives it: LOCI_STAFF_EMAILS of management.</p>
      ) : (
        api && <WhoGives api={api} />
      )}
      {reference}
    </div>
  )
}

/** Only owners change roles. */
function WhoGives({ api }: { api: Api }) {
  const { data } = useQuery(membersQuery(api))
  const owners = (data?.items ?? []).filter(({ role, user_id }) => role === 'owner' && user_id !== api.me.userId)
  const names = owners.slice(0, NAMED_MAX).map(nameOf)
  return (
    <p className="sm mut">
      {names.length > 0
        ? `${names.join(' and ')} can change your role${owners.length > NAMED_MAX ? ', and other owners' : ''}.`
        : 'An owner can change what a role is given to you.'}
    </p>
  )
}

/** Whether the role of who is signed in has the scope. */
export function useMay(scope: string): boolean {
  return useApi().organization.scopes.includes(scope)
}
