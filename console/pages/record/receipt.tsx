// What an erasure did: each place that was looked through, and what proves it.

import type { RecordDeleted } from '@loci/sdk/daemon.ts'
import { Link } from '@tanstack/react-router'
import { useEffect, useState } from 'react'
import { count } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { hasPage } from '../../pages.ts'
import { Card } from '../../parts/card.tsx'
import { Copy } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Status } from '../../parts/status.tsx'
import { Moment } from '../../parts/time.tsx'
import { isWhole } from './parts.ts'

export function Receipt({ of }: { of: RecordDeleted }) {
  const { service } = useService()
  const text = JSON.stringify(of, null, 2)
  const file = useFile(text)
  const redacted = of.checked.find(({ place }) => place === 'cycles')?.erased ?? 0
  return (
    <Card title="Receipt of an erasure" aside={<Moment at={of.deletedAt} />}>
      <div className="receipt">
        <div className={`note ${isWhole(of) ? 'bad' : 'warn'}`} role="status">
          <Icon name="erase" />
          <p>
            <b className="b5">{isWhole(of) ? 'Erased everywhere it stood.' : 'Erased, but not everywhere.'}</b>{' '}
            <span className="mut2">It is not learned again unless someone overrides.</span>
          </p>
        </div>
        <table className="t">
          <thead>
            <tr>
              <th>Place</th>
              <th className="num">Found</th>
              <th className="num">Erased</th>
              <th>
                <span className="sr">What is left</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {of.checked.map(({ place, found, erased }) => (
              <tr key={place}>
                <td>{place.replaceAll('_', ' ')}</td>
                <td className="num">{count(found)}</td>
                <td className="num">{count(erased)}</td>
                <td className="num">
                  {found === 0 ? (
                    <span className="mut">none</span>
                  ) : erased >= found ? (
                    <Status tone="ok" icon="check">
                      gone
                    </Status>
                  ) : (
                    <Status tone="bad" icon="cross">
                      left
                    </Status>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
        <dl className="kv sm">
          <dt>Tombstone</dt>
          <dd className="id">{of.tombstone}</dd>
          <dt>Receipt</dt>
          <dd className="id">{of.receipt}</dd>
          <dt>Ledger</dt>
          <dd>
            {of.ledgered === 'management'
              ? 'management has it: a restored backup erases it again'
              : 'in the cell, and with management within seconds'}
          </dd>
          <dt>Chain</dt>
          <dd>
            {redacted === 0 ? 'no cycle spoke of it' : `${count(redacted)} of its cycles show “redacted”`}
            {hasPage('integrity') && (
              <>
                {' · '}
                <Link to="/s/$slug/integrity" params={{ slug: service.slug }}>
                  check that it still verifies
                </Link>
              </>
            )}
          </dd>
        </dl>
        <div className="row wrap">
          <Copy text={text} label="Copy receipt" />
          {file && (
            <a className="btn s" href={file} download={`${of.receipt}.json`}>
              Download JSON
            </a>
          )}
        </div>
      </div>
    </Card>
  )
}

function useFile(text: string): string | undefined {
  const [file, setFile] = useState<string>()
  useEffect(() => {
    const url = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
    setFile(url)
    return () => URL.revokeObjectURL(url)
  }, [text])
  return file
}
