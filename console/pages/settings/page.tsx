// Settings of a service: how it holds and what it recalls by, its name, and its end.

import { useQuery } from '@tanstack/react-query'
import { useApi } from '../../api/api.ts'
import { useService } from '../../frame/service.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { Head } from '../../parts/head.tsx'
import { Configuration } from './configuration.tsx'
import { End } from './end.tsx'
import { Named } from './named.tsx'
import { detailQuery } from './queries.ts'
import './settings.css'

export function Page() {
  const view = useService()
  const detail = useQuery(detailQuery(useApi(), view))
  const { service, at } = view
  const isServing = service.status === 'active' || service.status === 'updating' || service.status === 'suspended'
  // A key-value service has no mind to be set.
  const hasMind = detail.data !== undefined && detail.data.service_type !== 'kv'
  const user = at.database === 'default' ? '' : ` --user ${at.database}`
  return (
    <>
      <Head
        title="Settings"
        of={service.name}
        sub={
          <>
            of <code>{at.database}</code> and of the whole service
          </>
        }
      />
      <div className="grid settings">
        <div className="grid">
          {isServing && hasMind && (
            <>
              <Configuration of="working-memory" title="Working memory" detail={detail.data} />
              <Configuration of="cognitive" title="Cycles and recall" detail={detail.data} />
            </>
          )}
        </div>
        <div className="grid">
          <Named detail={detail} />
          <End />
        </div>
      </div>
      <p className="row wrap">
        <span className="sm mut">The same from a shell</span>
        <CommandLine>{`loci wm config set capacity=25${user}`}</CommandLine>
      </p>
    </>
  )
}
