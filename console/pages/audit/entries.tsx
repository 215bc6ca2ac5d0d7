import { Fragment, useState } from 'react'
import type { AuditEntry } from '../../api/staff.ts'
import { shortId } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { Moment } from '../../parts/time.tsx'

interface EntriesProps {
  entries: readonly AuditEntry[]
  brokenAt: number | undefined
}

export function Entries({ entries, brokenAt }: EntriesProps) {
  const [open, setOpen] = useState<string>()
  return (
    <table className="t audit">
      <thead>
        <tr>
          <th className="num hide-s">No.</th>
          <th>At</th>
          <th>Who</th>
          <th>Did</th>
          <th className="hide-s">What</th>
          <th className="hide-s">Outcome</th>
          <th />
        </tr>
      </thead>
      <tbody>
        {entries.map((entry) => (
          <Fragment key={entry.id}>
            <tr className={entry.seq === brokenAt ? 'broken' : ''}>
              <td className="num mut hide-s">{entry.seq}</td>
              <td className="mut2">
                <Moment at={entry.at} />
              </td>
              <td>
                <span className="id" title={entry.actor}>
                  {shortId(entry.actor)}
                </span>
              </td>
              <td>{entry.action.replace('.', ' ').replaceAll('_', ' ')}</td>
              <td className="hide-s">
                <span className="id" title={entry.subject}>
                  {shortId(entry.subject)}
                </span>
              </td>
              <td className="mut2 hide-s">{entry.outcome}</td>
              <td className="num">
                <button
                  type="button"
                  className="why"
                  data-row
                  aria-expanded={open === entry.id}
                  onClick={() => setOpen(open === entry.id ? undefined : entry.id)}
                >
                  {open === entry.id ? 'Less' : 'More'}
                </button>
              </td>
            </tr>
            {open === entry.id && (
              <tr className="detail">
                <td colSpan={7}>
                  <Detail entry={entry} />
                </td>
              </tr>
            )}
          </Fragment>
        ))}
      </tbody>
    </table>
  )
}

function Detail({ entry }: { entry: AuditEntry }) {
  const { id, actor, subject, request_id, hash, prev_hash, detail } = entry
  return (
    <div className="grid">
      <dl className="kv">
        <dt>Entry</dt>
        <dd>
          <code>{id}</code>
        </dd>
        <dt>Who, what</dt>
        <dd>
          <code>{actor}</code>, <code>{subject}</code>
        </dd>
        <dt>Request</dt>
        <dd>{request_id ? <code>{request_id}</code> : 'none: the system did it'}</dd>
        <dt>Hash</dt>
        <dd>
          <code>{hash}</code>
        </dd>
        <dt>Before</dt>
        <dd>{prev_hash ? <code>{prev_hash}</code> : 'nothing: it is the first'}</dd>
      </dl>
      {Object.keys(detail).length > 0 && <pre className="code">{JSON.stringify(detail, null, 2)}</pre>}
      <Copy text={JSON.stringify(entry, null, 2)} label="Copy entry" />
    </div>
  )
}
