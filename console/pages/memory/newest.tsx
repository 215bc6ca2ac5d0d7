// Before anything is asked: what was stored last.

import { useInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Loaded } from '../../parts/states.tsx'
import { NothingStored, Records } from './browse.tsx'
import { recordsQuery } from './queries.ts'

const SHOWN = 8

export function Newest() {
  const view = useService()
  const newest = useInfiniteQuery(recordsQuery(view, {}, SHOWN))
  return (
    <Card
      title="Stored last"
      aside={
        <Link from="/s/$slug/memory" to="." search={(search) => ({ ...search, view: 'browse' as const })}>
          All of them
        </Link>
      }
      flush
    >
      <Loaded of={newest} rows={SHOWN}>
        {({ pages }) => {
          const records = pages.flatMap((page) => page.records).slice(0, SHOWN)
          return records.length === 0 ? <NothingStored /> : <Records of={records} slug={view.service.slug} />
        }}
      </Loaded>
    </Card>
  )
}
