// Memory: one box that is a recall, and all that is stored.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { useState } from 'react'
import { counted, shortId } from '../../format.ts'
import { DEFAULT_DATABASE, useService } from '../../frame/service.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Browse } from './browse.tsx'
import './memory.css'
import { quoted } from './parts.ts'
import { countQuery } from './queries.ts'
import { Recall } from './recall.tsx'
import { Store } from './store.tsx'

const route = getRouteApi('/s/$slug/memory')

export function Page() {
  const view = useService()
  const search = route.useSearch()
  const total = useQuery(countQuery(view)).data
  const [isStoring, setStoring] = useState(false)
  const [stored, setStored] = useState<string>()
  const isBrowsing = search.view === 'browse'
  const { database } = view.at
  const user = database === DEFAULT_DATABASE ? '' : ` --user ${database}`
  return (
    <>
      <Head
        title="Memory"
        of={view.service.name}
        sub={
          total !== undefined && (
            <>
              {counted(total, 'record')} in <code>{database}</code>
            </>
          )
        }
      >
        <nav className="seg" aria-label="Recall or browse">
          <Link
            from="/s/$slug/memory"
            to="."
            search={(now) => ({ ...now, view: undefined })}
            activeOptions={{ exact: true }}
          >
            Recall
          </Link>
          <Link
            from="/s/$slug/memory"
            to="."
            search={(now) => ({ ...now, view: 'browse' as const, hit: undefined })}
            activeOptions={{ exact: true }}
          >
            Browse
          </Link>
        </nav>
        <button type="button" className="btn" onClick={() => setStoring(true)}>
          <Icon name="add" />
          Store
        </button>
      </Head>
      {stored && (
        <div className="note ok" role="status">
          <Icon name="check" />
          <p>
            <b>Stored, and recallable now.</b>{' '}
            <Link to="/s/$slug/memory/$id" params={{ slug: view.service.slug, id: stored }} className="id">
              {shortId(stored)}
            </Link>
          </p>
        </div>
      )}
      {isBrowsing ? <Browse search={search} /> : <Recall search={search} onStore={() => setStoring(true)} />}
      <p className="sm mut">
        <CommandLine>
          {isBrowsing || !search.q ? `loci memory list${user}` : `loci memory recall ${quoted(search.q)}${user} --why`}
        </CommandLine>
      </p>
      {isStoring && <Store onStored={setStored} onClose={() => setStoring(false)} />}
    </>
  )
}
