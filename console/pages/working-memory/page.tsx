// What is in mind now: how strongly each is held and why, who would leave first, what left; and what can be put,
// pinned, changed, restored or cleared.

import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { lastCycleQuery } from '../../api/cycles.ts'
import { useRecords } from '../../api/records.ts'
import { slotsQuery } from '../../api/slots.ts'
import { clock, count } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { CommandLine } from '../../parts/copy.tsx'
import { DryRun } from '../../parts/dry-run.tsx'
import { Head } from '../../parts/head.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Loaded } from '../../parts/states.tsx'
import { usePreferences } from '../../preferences.ts'
import { ClearDialog } from './clear.tsx'
import { policyOf } from './leaving.ts'
import { Left } from './left.tsx'
import { Places } from './places.tsx'
import { PutDialog } from './put.tsx'
import { slotSettingsQuery, slotStatsQuery } from './queries.ts'
import { SlotPanel } from './slot.tsx'
import { Slots } from './slots.tsx'
import './working-memory.css'

const route = getRouteApi('/s/$slug/working-memory')

export function Page() {
  const view = useService()
  const { zone } = usePreferences()
  const { slot: open } = route.useSearch()
  const [asks, ask] = useState<'focus' | 'put' | 'clear'>()
  const slots = useQuery(slotsQuery(view))
  const stats = useQuery(slotStatsQuery(view))
  const settings = useQuery(slotSettingsQuery(view))
  const last = useQuery(lastCycleQuery(view))
  const held = slots.data?.slots ?? []
  const records = useRecords(
    view,
    held.map(({ recordId }) => recordId),
  )
  const policy = policyOf(settings.data?.config.policy)
  const shown = held.find(({ key }) => key === open)
  const close = () => ask(undefined)
  return (
    <>
      <Head title="Working memory" of={view.service.name} sub={slots.data && <AsOf />}>
        <button type="button" className="btn" onClick={() => ask('focus')}>
          <Icon name="restore" />
          What would a focus do?
        </button>
        <button type="button" className="btn" onClick={() => ask('put')}>
          <Icon name="add" />
          Put
        </button>
        <button type="button" className="btn d" onClick={() => ask('clear')} disabled={held.length === 0}>
          Clear…
        </button>
      </Head>
      <div className={`wm-page${open === undefined ? '' : ' with-panel'}`}>
        <div className="wm-main">
          <section className="card" aria-label="In mind">
            <Loaded of={slots} rows={8}>
              {(list) => (
                <>
                  <Places list={list} bytes={stats.data?.bytes} policy={policy} />
                  <Slots list={list} policy={policy} records={records} open={open} onPut={() => ask('put')} />
                </>
              )}
            </Loaded>
          </section>
          <Left total={stats.data?.evictions} />
          <p className="row wrap sm mut">
            The same by the command line:{' '}
            <CommandLine>{commandOf('loci wm list --watch', view.at.database)}</CommandLine>
          </p>
        </div>
        {open !== undefined && slots.data && (
          <SlotPanel
            key={open}
            slotKey={open}
            slot={shown}
            record={records.byId.get(shown?.recordId ?? '')}
            lastCycle={last.data ?? undefined}
          />
        )}
      </div>
      {asks === 'focus' && <DryRun onClose={close} />}
      {asks === 'put' && <PutDialog onClose={close} />}
      {asks === 'clear' && <ClearDialog onClose={close} />}
    </>
  )

  function AsOf() {
    const { data: cycle } = last
    return (
      <>
        as of change {count(slots.data?.asOfSeq)}
        {cycle && `, cycle ${count(cycle.seq)}, ${clock(cycle.completedAt, zone)}`}
      </>
    )
  }
}

/** A user of the service is a database of it. */
function commandOf(command: string, database: string): string {
  return database === 'default' ? command : `${command} --user ${database}`
}
