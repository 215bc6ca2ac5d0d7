// What a walk checked: each check with how much it looked at and how much of that failed.

import type { CSSProperties } from 'react'
import { count, counted, shortId, took } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { Status } from '../../parts/status.tsx'
import { Clock } from '../../parts/time.tsx'
import { checkWords, shareRead, type Walk } from './walk.ts'

const HOW: Readonly<Record<Walk['mode'], string>> = { full: 'Full check', incremental: 'Check of what changed' }

export function Checked({ walk }: { walk: Walk }) {
  const { mode, is, status, pages, rows, rowsTotal, checks, rootDigest, startedAt, tookMs } = walk
  const share = shareRead(walk)
  return (
    <>
      <header>
        <h2>{HOW[mode]}</h2>
        <span className="r tn" role="status">
          {is === 'running' ? (
            `${counted(pages, 'page')} so far, ${count(rows)} of ${count(rowsTotal)} rows`
          ) : (
            <span>
              {is === 'stopped' && 'stopped · '}
              <Clock at={startedAt} /> · {took(tookMs)} · {counted(pages, 'page')}
            </span>
          )}
        </span>
      </header>
      {is !== 'done' && share !== undefined && (
        <span
          className="meter walked"
          role="progressbar"
          aria-label="How far the check has come"
          aria-valuenow={Math.round(share * 100)}
          style={{ '--part': `${share * 100}%` } as CSSProperties}
        >
          <i />
        </span>
      )}
      <table className="t">
        <thead>
          <tr>
            <th>Check</th>
            <th className="num">Looked at</th>
            <th className="num">Failed</th>
            <th>
              <span className="sr">Verdict</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {checks.map(({ name, checked, failed }) => (
            <tr key={name}>
              <td>
                <b className="b5">{checkWords(name)}</b> <span className="id hide-s">{name}</span>
              </td>
              <td className="num">{count(checked)}</td>
              <td className="num">{failed > 0 ? <b className="failed">{count(failed)}</b> : 0}</td>
              <td className="num">
                {failed > 0 ? (
                  <Status tone="bad" icon="cross">
                    {counted(failed, 'issue')}
                  </Status>
                ) : (
                  <Status tone="ok" icon="check">
                    holds
                  </Status>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {status === 'unknown' && (
        <p className="note warn">
          It is not known of all: something was written while it was read. Check again to be sure.
        </p>
      )}
      <div className="b row wrap sm mut foot">
        {rootDigest !== undefined && (
          <>
            <span>Root digest</span>
            <span className="id" title={rootDigest}>
              {shortId(`sha256_${rootDigest}`).replace('sha256_', 'sha256 ')}
            </span>
            <Copy text={rootDigest} />
          </>
        )}
        <span className="grow" />
        <span>Costs 50 requests per page; one walk at a time</span>
      </div>
    </>
  )
}
