// The newest acts of the platform, and whether its chain is whole as far as it is read.

import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useApi } from '../../api/api.ts'
import { chainOf } from '../../api/chain.ts'
import { auditQuery } from '../../api/staff.ts'
import { shortId } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Status } from '../../parts/status.tsx'
import { Clock } from '../../parts/time.tsx'

const SHOWN = 6

export function LatestActs() {
  const audit = useInfiniteQuery(auditQuery(useApi(), 'platform'))
  const entries = audit.data?.pages.flatMap((page) => page.entries)
  const { brokenAt } = chainOf(entries ?? [])
  return (
    <Card
      flush
      title={<Link to="/staff/audit">Audit</Link>}
      aside={
        entries &&
        (brokenAt === undefined ? (
          <Status tone="ok" icon="link">
            chain whole
          </Status>
        ) : (
          <Status tone="bad" icon="cross">{`broken at ${brokenAt}`}</Status>
        ))
      }
    >
      <Loaded of={{ ...audit, data: entries }} rows={4}>
        {(list) => (
          <ul className="acts">
            {list.slice(0, SHOWN).map(({ id, at, actor, action, subject, request_id }) => (
              <li key={id}>
                <Clock at={at} />
                <span className="who-is">
                  <b className="b5" title={actor}>
                    {shortId(actor)}
                  </b>{' '}
                  {action.replace('.', ' ').replaceAll('_', ' ')}{' '}
                  <span className="id" title={subject}>
                    {shortId(subject)}
                  </span>
                </span>
                <span className="id hide-s" title={request_id ?? ''}>
                  {request_id ? shortId(request_id) : '–'}
                </span>
              </li>
            ))}
            {list.length === 0 && <li className="mut">Nothing yet.</li>}
          </ul>
        )}
      </Loaded>
    </Card>
  )
}
