// Tool advice: a task at the left, the tools for it at the right, the best first, each with why; and those that a
// policy denies, with the rule.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { CommandLine, Copy } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Empty } from '../../parts/states.tsx'
import './advice.css'
import { Answer } from './answer.tsx'
import { CLASS, curlOf, quoted, rankRequest } from './parts.ts'
import { Policies } from './policies.tsx'
import { rankQuery } from './queries.ts'
import { Task } from './task.tsx'

const route = getRouteApi('/s/$slug/advice')
const VIEWS = [
  [undefined, 'Ask'],
  ['policies', 'Policies'],
] as const

export function Page() {
  const view = useService()
  const search = route.useSearch()
  const request = rankRequest(search)
  const rank = useQuery(rankQuery(view, search.view === undefined ? request : undefined))
  const { service, at } = view
  const database = at.database === DEFAULT_DATABASE ? undefined : at.database
  const user = database === undefined ? '' : ` --user ${database}`
  return (
    <>
      <Head title="Tool advice" of={service.name} sub="by what was told of each tool">
        <nav className="seg" aria-label="What is shown">
          {VIEWS.map(([value, word]) => (
            <Link
              key={word}
              from="/s/$slug/advice"
              to="."
              search={(now) => ({ ...now, view: value })}
              activeOptions={{ exact: true, includeSearch: true }}
              activeProps={{}}
              aria-current={search.view === value ? 'page' : undefined}
            >
              {word}
            </Link>
          ))}
        </nav>
        {request && service.endpoint && (
          <Copy label="curl" text={curlOf(service.endpoint, database, request)} isLarge />
        )}
      </Head>
      {search.view === 'policies' ? (
        <Policies />
      ) : (
        <div className="grid advice">
          <Task search={search} isBusy={rank.isFetching} onAgain={() => void rank.refetch()} />
          {request === undefined ? (
            <section className="card">
              <Empty title="Which tool next?" command="loci advice rank 'refund order 4411' --class refund">
                Say what is to be done. The tools that were told of are ranked by how well they fit it, how often they
                worked in this class, and how they do of late.
              </Empty>
            </section>
          ) : (
            <Answer of={rank} />
          )}
        </div>
      )}
      <p className="row wrap">
        <span className="sm mut">The same from a shell</span>
        <CommandLine>
          {`loci advice rank ${quoted(search.intent ?? 'refund order 4411')} --class ${search.class ?? CLASS}${user}`}
        </CommandLine>
      </p>
    </>
  )
}
