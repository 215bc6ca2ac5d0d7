// The head of the pages of platform staff: which of them this is, and what waits. Who is not staff is told so, by any
// of their addresses.

import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useApi } from '../api/api.ts'
import { parkedQuery, quarantineQuery } from '../api/staff.ts'
import { Head } from './head.tsx'
import { NoRight } from './right.tsx'

export type StaffPage = 'cells' | 'quarantine' | 'parked' | 'audit'

interface StaffProps {
  page: StaffPage
  /** What can be done. */
  action?: ReactNode
  children: ReactNode
}

export function Staff({ page, action, children }: StaffProps) {
  const { isStaff } = useApi().me
  if (isStaff)
    return (
      <>
        <Head title="Operators" sub="platform staff; every act here is audited">
          <Pages page={page} />
          {action}
        </Head>
        {children}
      </>
    )
  return (
    <>
      <Head title="Operators" />
      <section className="card">
        <NoRight title="Only platform staff sees this" right="staff">
          It is about the machines of this installation, and no role of an organization has it.
        </NoRight>
      </section>
    </>
  )
}

function Pages({ page }: { page: StaffPage }) {
  const api = useApi()
  const { data: quarantine } = useQuery(quarantineQuery(api))
  const { data: parked } = useQuery(parkedQuery(api))
  const number = (items: unknown[] | undefined, isMore = false) =>
    items === undefined ? '' : ` ${items.length}${isMore ? '+' : ''}`
  return (
    <nav className="seg" aria-label="Which">
      <Link
        to="/staff/cells"
        activeProps={{}}
        activeOptions={{ exact: true, explicitUndefined: true }}
        aria-current={page === 'cells' || undefined}
      >
        Cells
      </Link>
      <Link
        to="/staff/quarantine"
        search={{ view: undefined }}
        activeProps={{}}
        activeOptions={{ exact: true, explicitUndefined: true }}
        aria-current={page === 'quarantine' || undefined}
      >
        Quarantine{number(quarantine)}
      </Link>
      <Link
        to="/staff/quarantine"
        search={{ view: 'parked' }}
        activeProps={{}}
        activeOptions={{ exact: true, explicitUndefined: true }}
        aria-current={page === 'parked' || undefined}
      >
        Parked billing{number(parked?.events, (parked?.next_cursor ?? null) !== null)}
      </Link>
      <Link
        to="/staff/audit"
        activeProps={{}}
        activeOptions={{ exact: true, explicitUndefined: true }}
        aria-current={page === 'audit' || undefined}
      >
        Audit
      </Link>
    </nav>
  )
}
