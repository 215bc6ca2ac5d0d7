// Who did what: of the platform, or of one organization. Each entry carries the hash of the one before.

import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import { useApi } from '../../api/api.ts'
import { chainOf } from '../../api/chain.ts'
import { auditQuery } from '../../api/staff.ts'
import { counted } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Staff } from '../../parts/staff.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import './audit.css'
import { Entries } from './entries.tsx'

const route = getRouteApi('/staff/audit')
const PLATFORM = 'platform'

export function Page() {
  const { of = PLATFORM } = route.useSearch()
  return (
    <Staff page="audit">
      <Choose of={of} />
      <Chain key={of} of={of} />
    </Staff>
  )
}

function Choose({ of }: { of: string }) {
  const navigate = route.useNavigate()
  const { organization } = useApi()
  const [text, setText] = useState(of === PLATFORM ? '' : of)
  const go = (to: string) => {
    setText(to === PLATFORM ? '' : to)
    void navigate({ search: { of: to === PLATFORM ? undefined : to } })
  }
  return (
    <form
      className="row wrap"
      onSubmit={(event: FormEvent) => {
        event.preventDefault()
        go(text.trim() || PLATFORM)
      }}
    >
      <fieldset className="seg" aria-label="Whose">
        <button type="button" aria-pressed={of === PLATFORM} onClick={() => go(PLATFORM)}>
          Platform
        </button>
        <button type="button" aria-pressed={of === organization.id} onClick={() => go(organization.id)}>
          {organization.name}
        </button>
      </fieldset>
      <label className="in whose">
        <input
          aria-label="Of another organization, by its id"
          placeholder="org_… and Enter"
          autoComplete="off"
          pattern="org_[a-z0-9]+"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
      </label>
      <span className="sm mut">Reading the audit of others is audited.</span>
    </form>
  )
}

function Chain({ of }: { of: string }) {
  const audit = useInfiniteQuery(auditQuery(useApi(), of))
  const entries = audit.data?.pages.flatMap((page) => page.entries)
  const { brokenAt, isToBegin } = chainOf(entries ?? [])
  return (
    <Card
      flush
      title="Audit"
      aside={
        entries && (
          <>
            <span>
              {counted(entries.length, 'entry', 'entries')} read{isToBegin && ', all there are'}
            </span>
            {brokenAt === undefined ? (
              <Status tone="ok" icon="link">
                chain whole
              </Status>
            ) : (
              <Status tone="bad" icon="cross">{`broken at ${brokenAt}`}</Status>
            )}
            <button type="button" className="btn s" onClick={() => void audit.refetch()}>
              Read again
            </button>
          </>
        )
      }
    >
      <Loaded of={{ ...audit, data: entries }} rows={8}>
        {(list) =>
          list.length === 0 ? (
            <Empty title="Nothing was done yet">Every act of a person, a key or the system stands here.</Empty>
          ) : (
            <>
              <Entries entries={list} brokenAt={brokenAt} />
              {audit.hasNextPage && (
                <div className="b under">
                  <button
                    type="button"
                    className="btn s"
                    disabled={audit.isFetchingNextPage}
                    onClick={() => void audit.fetchNextPage()}
                  >
                    Older ones
                  </button>
                </div>
              )}
            </>
          )
        }
      </Loaded>
    </Card>
  )
}
