// What left, newest first: why, and the way back while its version is kept.

import type { EvictionList } from '@loci/sdk/daemon.ts'
import { useInfiniteQuery, useMutation } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { newIdempotencyKey } from '../../api/api.ts'
import { count, counted, score, shortNumbers } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Icon } from '../../parts/icon.tsx'
import { LeftTag } from '../../parts/left.tsx'
import { Said } from '../../parts/said.tsx'
import { Empty, Loaded, Trouble } from '../../parts/states.tsx'
import { Clock, useNow } from '../../parts/time.tsx'
import { leftQuery, slotsChanged } from './queries.ts'

const DAY_MS = 86_400_000

type LeftItem = EvictionList['evictions'][number]

export function Left({ total }: { total: number | undefined }) {
  const view = useService()
  const left = useInfiniteQuery(leftQuery(view))
  const restore = useRestore()
  return (
    <section className="card" aria-labelledby="left">
      <header>
        <h2 id="left">Left</h2>
        <Kept total={total} first={left.data?.pages[0]?.evictions[0]} />
        <span className="r">
          {hasPage('mind') && (
            <Link className="why" to="/s/$slug/mind" params={{ slug: view.service.slug }}>
              On the timeline
            </Link>
          )}
        </span>
      </header>
      {restore.error && (
        <Trouble error={restore.error} isWrite onRetry={() => restore.variables && restore.mutate(restore.variables)} />
      )}
      {restore.data && (
        <p className="note ok" role="status">
          <Icon name="check" />
          It is in mind again
          {restore.data.evicted.length > 0 && `; ${restore.data.evicted.map(({ key }) => key).join(', ')} left for it`}.
        </p>
      )}
      <Loaded of={left}>
        {({ pages }) => {
          const all = pages.flatMap(({ evictions }) => evictions)
          if (all.length === 0)
            return (
              <Empty title="Nothing has left" command="loci wm evictions">
                What leaves stands here with its reason, and can be brought back for as long as your plan keeps it.
              </Empty>
            )
          return (
            <table className="t ev">
              <colgroup>
                <col className="when" />
                <col />
                <col className="why-left" />
                <col className="numbers" />
                <col className="back" />
              </colgroup>
              <thead className="sr">
                <tr>
                  <th>When</th>
                  <th>What</th>
                  <th>Why</th>
                  <th>In numbers</th>
                  <th>Back</th>
                </tr>
              </thead>
              <tbody>
                {all.map((item) => (
                  <LeftRow
                    key={item.seq}
                    item={item}
                    isBusy={restore.isPending}
                    onRestore={() =>
                      restore.mutate({ key: item.key, version: item.version, idempotencyKey: newIdempotencyKey() })
                    }
                  />
                ))}
              </tbody>
            </table>
          )
        }}
      </Loaded>
      {left.hasNextPage && (
        <div className="b">
          <button type="button" className="btn s" disabled={left.isFetching} onClick={() => void left.fetchNextPage()}>
            {left.isFetchingNextPage ? 'Asking…' : 'Older'}
          </button>
        </div>
      )}
    </section>
  )
}

/** How many so far, and how long the plan keeps them. */
function Kept({ total, first }: { total: number | undefined; first: LeftItem | undefined }) {
  if (total === undefined) return null
  const days = first && Math.round((Date.parse(first.recoverableUntil) - Date.parse(first.evictedAt)) / DAY_MS)
  return (
    <span className="sm mut">
      {count(total)} so far{days !== undefined && ` · kept ${counted(days, 'day')}`}
    </span>
  )
}

function LeftRow({ item, isBusy, onRestore }: { item: LeftItem; isBusy: boolean; onRestore(): void }) {
  const now = useNow(60_000)
  const { key, value, redacted, reasonCode, reason, explain, evictedAt, recoverableUntil } = item
  const isKept = !redacted && Date.parse(recoverableUntil) > now
  return (
    <tr>
      <td className="mut num">
        <Clock at={evictedAt} />
      </td>
      <td title={key}>
        {redacted ? (
          <span className="redacted" role="img" aria-label="erased, or no longer kept" />
        ) : (
          <Said of={value} line />
        )}
      </td>
      <td>
        <LeftTag code={reasonCode} />
      </td>
      <td className="mut2 sm">
        <span className="ell" title={reason}>
          {score(explain.score)}: {shortNumbers(reason)}
        </span>
      </td>
      <td className="num">
        {isKept && (
          <button type="button" className="why" disabled={isBusy} onClick={onRestore}>
            <Icon name="restore" />
            Restore
          </button>
        )}
      </td>
    </tr>
  )
}

/** A former version is written again; what has to make room for it leaves. */
export function useRestore() {
  const view = useService()
  return useMutation({
    mutationFn: async (what: { key: string; version: number; idempotencyKey: string }) => {
      const { key, version, idempotencyKey } = what
      return (
        await view.daemon.call('POST /v1/working-memory/slots/restore', { body: { key, version }, idempotencyKey })
      ).body
    },
    onSuccess: () => slotsChanged(view),
  })
}
