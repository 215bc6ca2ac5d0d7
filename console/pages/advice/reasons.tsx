// Why a tool stands where it stands: the logarithms as the server adds them, who told what, and the outcomes.

import type { RankedTool } from '@loci/sdk/daemon.ts'
import { count, counted, score as shown } from '../../format.ts'
import { Copy } from '../../parts/copy.tsx'
import { addsUp, sumOf } from '../../parts/explanation.ts'
import { Status } from '../../parts/status.tsx'
import { Ago } from '../../parts/time.tsx'
import { factorsOf, shareText } from './parts.ts'

const MEANS: Readonly<Record<string, string>> = {
  text: 'how well the intent fits what it succeeded with, against the other tools',
  reliability: 'how often it works in this class',
  explore: 'what is tried out, so that a tool that was unlucky gets another chance',
  health: 'how it does of late, against what it used to do',
}

export function Reasons({ tool }: { tool: RankedTool }) {
  const { explain, reasons, stats, confidence, evidence, score } = tool
  if (!explain) return <p className="mut">The server told no parts.</p>
  return (
    <div className="reasons">
      <ul className="sm">
        {reasons.map((reason) => (
          <li key={reason}>{reason}</li>
        ))}
      </ul>
      <table className="parts">
        <caption className="sr">What the score is made of</caption>
        <thead>
          <tr>
            <th>Part</th>
            <th className="num">As a share</th>
            <th className="num">Logarithm</th>
          </tr>
        </thead>
        <tbody>
          {factorsOf(tool).map(({ name, word, share, contribution }) => (
            <tr key={name}>
              <td>
                <b className="b5">{word}</b> <span className="mut">{MEANS[name]}</span>
              </td>
              <td className="num">{name === 'text' ? shareText(share) : shown(share)}</td>
              <td className="num">{shown(contribution, { full: true })}</td>
            </tr>
          ))}
        </tbody>
        <tfoot>
          <tr>
            <td>
              score{' '}
              {addsUp(score, explain.parts) ? (
                <Status tone="ok" icon="check">
                  adds up
                </Status>
              ) : (
                <Status tone="bad" icon="cross">
                  does not add up
                </Status>
              )}
            </td>
            <td className="num">{shareText(Math.exp(score))}</td>
            <td className="num">{shown(sumOf(explain.parts), { full: true })}</td>
          </tr>
        </tfoot>
      </table>
      <p className="sm mut2">
        Of this class {count(stats.successes)} succeeded and {count(stats.failures)} failed
        {stats.lastOutcomeAt !== null && (
          <>
            , the last one <Ago at={stats.lastOutcomeAt} />
          </>
        )}
        . Weighed by age, and with what it did in other classes, that counts as {shown(confidence.effective.successes)}{' '}
        successes and {shown(confidence.effective.failures)} failures.
      </p>
      {explain.partners.length > 0 && (
        <p className="sm mut2">
          Told by{' '}
          {explain.partners.map(({ partner, attempts, successes }, at) => (
            <span key={partner}>
              {at > 0 && ', '}
              <code>{partner}</code> {count(successes)} of {count(attempts)}
            </span>
          ))}
          .
        </p>
      )}
      {evidence.length > 0 && (
        <details>
          <summary className="link sm">Evidence: {counted(evidence.length, 'outcome')}, the newest first</summary>
          <ul className="evidence sm">
            {evidence.map(({ projectionId, outcome, evidenceRefs }) => (
              <li key={projectionId} className="row wrap">
                <span className={`tag${outcome === 'success' ? ' ok' : outcome === 'failure' ? ' bad' : ''}`}>
                  {outcome}
                </span>
                <span className="id">{projectionId}</span>
                <Copy text={projectionId} />
                {evidenceRefs.map((ref) => (
                  <code key={ref}>{ref}</code>
                ))}
              </li>
            ))}
          </ul>
        </details>
      )}
    </div>
  )
}
