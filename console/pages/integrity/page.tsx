// Whether what is stored is what was written: recomputed from the rows when somebody asks, and the chain of cycles,
// which the daemon verifies by itself.

import { useMutation, useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { useApi } from '../../api/api.ts'
import { useService } from '../../frame/service.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Empty, Trouble } from '../../parts/states.tsx'
import { Clock } from '../../parts/time.tsx'
import { Chain } from './chain.tsx'
import { Checked } from './checked.tsx'
import './integrity.css'
import { Issues } from './issues.tsx'
import { chainQuery, linksQuery, storeQuery, walkQuery, walkRows } from './queries.ts'
import { Store } from './store.tsx'
import { foundIn, type Mode } from './walk.ts'

const route = getRouteApi('/s/$slug/integrity')

export function Page() {
  const view = useService()
  const api = useApi()
  const { check: wanted } = route.useSearch()
  const { data: walk = null } = useQuery(walkQuery(view))
  const leaving = useRef(new AbortController())
  useEffect(() => {
    leaving.current = new AbortController()
    return () => leaving.current.abort()
  }, [])
  const check = useMutation({ mutationFn: (mode: Mode) => walkRows(api, view, mode, leaving.current.signal) })
  const isWalking = check.isPending
  // The address may ask for it: a link to a check is a check. It may take all of the plan's rate for a while, so what
  // else stands on the page comes first.
  const asked = useRef(false)
  const begin = check.mutate
  const navigate = useNavigate()
  const ask = (mode: Mode) => {
    asked.current = true
    void navigate({ to: '.', search: (search) => ({ ...search, check: mode }), replace: true })
    begin(mode)
  }
  const [chain, store, links] = [useQuery(chainQuery(view)), useQuery(storeQuery(view)), useQuery(linksQuery(view))]
  const isThere = chain.isFetched && store.isFetched && links.isFetched
  useEffect(() => {
    if (wanted === undefined || !isThere || asked.current || walk) return
    asked.current = true
    begin(wanted)
  }, [wanted, isThere, walk, begin])
  const found = walk && foundIn(walk)
  return (
    <>
      <Head title="Integrity" of={view.service.name} sub="recomputed from the rows, not from a flag">
        <button type="button" className="btn" disabled={isWalking} onClick={() => ask('incremental')}>
          Check what changed
        </button>
        <button type="button" className="btn p" disabled={isWalking} onClick={() => ask('full')}>
          <Icon name="integrity" />
          {isWalking ? 'Checking…' : 'Check everything'}
        </button>
      </Head>
      {found && (
        <div className="note bad" role="alert">
          <Icon name="warning" />
          <div>
            <b className="b5">{found}</b> It is kept out of every answer and hides nothing else.{' '}
            <span className="mut2">
              Found <Clock at={walk?.startedAt} />.
            </span>
          </div>
          <span className="grow" />
          <a className="why" href="#issues">
            What to do
          </a>
        </div>
      )}
      <div className="grid halves">
        <section className="card" aria-label="Check">
          {walk && walk.pages > 0 ? (
            <Checked walk={walk} />
          ) : isWalking ? (
            <p className="b mut" role="status">
              Reading the first rows…
            </p>
          ) : (
            <Empty
              title="Not checked here yet"
              action={
                <button type="button" className="btn p" onClick={() => ask('full')}>
                  Check everything
                </button>
              }
              command="loci kv consistency --full"
            >
              Every row is read and held against its digest, and every sum against the rows. It costs 50 requests a
              page.
            </Empty>
          )}
          {check.error && <Trouble error={check.error} onRetry={() => check.variables && ask(check.variables)} />}
        </section>
        <Chain walk={walk} />
      </div>
      {walk && walk.issues.length > 0 && <Issues issues={walk.issues} onErased={() => ask('full')} />}
      <Store />
      <p className="row wrap">
        <span className="sm mut">The same from a shell</span>
        <CommandLine>loci kv consistency --full</CommandLine>
      </p>
    </>
  )
}
