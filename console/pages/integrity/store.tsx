// The store, asked by a probe that is written, committed and read back.

import { useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { bytes, took } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Clock } from '../../parts/time.tsx'
import { storeQuery } from './queries.ts'

export function Store() {
  const store = useQuery(storeQuery(useService()))
  return (
    <Card
      title="Store"
      aside={
        store.data && (
          <span>
            a probe row written, committed, read back at <Clock at={store.data.checkedAt} />
          </span>
        )
      }
    >
      <Loaded of={store} rows={2}>
        {({ status, detail, probe, durability, replication, engineVersion }) => (
          <>
            {status !== 'ok' && (
              <p className={`note ${status === 'failed' ? 'bad' : 'warn'}`}>
                <Icon name="warning" />
                {detail ?? `The store is ${status}.`}
              </p>
            )}
            <dl className="figures">
              <Figure name="Write">{took(probe.writeMs)}</Figure>
              <Figure name="Commit">{took(probe.commitMs)}</Figure>
              <Figure name="Read back">{took(probe.readMs)}</Figure>
              <Figure name="fsync">{durability.fsync ?? '–'}</Figure>
              <Figure name="Checksums of pages">{durability.dataChecksums ?? '–'}</Figure>
              {replication.map(({ name, state, lagBytes }) => (
                <Figure key={name} name={`Replica ${name}`}>
                  {state}, {bytes(lagBytes)} behind
                </Figure>
              ))}
              <Figure name="PostgreSQL">{engineVersion ?? '–'}</Figure>
            </dl>
          </>
        )}
      </Loaded>
    </Card>
  )
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="sm mut">{name}</dt>
      <dd className="b5 tn">{children}</dd>
    </div>
  )
}
