// Why a hit stands where it stands: its parts, that they add up, and which words of the question it has.

import { type CSSProperties, Fragment } from 'react'
import { score as shown } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { Icon } from '../../parts/icon.tsx'
import { PART_MEANINGS } from '../../parts/part-meanings.ts'
import { Said } from '../../parts/said.tsx'
import { Sum, Why } from '../../parts/why.tsx'
import type { Shown } from './hits.tsx'
import { ANSWERS_FROM, ordinal } from './parts.ts'

export function WhyCard({ hit, rank }: { hit: Shown; rank: number }) {
  return (
    <Card title={rank === 1 ? 'Why first' : `Why ${ordinal(rank)}`}>
      <Reasons hit={hit} />
    </Card>
  )
}

export function Reasons({ hit: { explain, score = explain?.score } }: { hit: Shown }) {
  if (!explain || score === undefined) return <p className="mut">The server told no parts.</p>
  const meant = explain.parts.filter(({ name }) => PART_MEANINGS[name])
  return (
    <div className="reasons">
      <Sum parts={explain.parts} />
      <Why score={score} parts={explain.parts} full={false} />
      <details>
        <summary className="link sm">What each part means</summary>
        <dl className="kv sm meanings">
          {meant.map(({ name }) => (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd>{PART_MEANINGS[name]}</dd>
            </Fragment>
          ))}
        </dl>
      </details>
      <Words of={explain.words} />
    </div>
  )
}

/** Each word of the question: whether the memory has it, and by which word of its own. */
function Words({ of }: { of: NonNullable<Shown['explain']>['words'] }) {
  if (of.length === 0) return null
  return (
    <>
      <h3>Words of the question</h3>
      <ul className="covered">
        {of.map(({ word, covered, by }) => (
          <li key={word} className={`tag${covered >= 1 ? ' ok' : ''}`}>
            <Icon name={covered > 0 ? 'check' : 'cross'} />
            <Said of={word} line />
            {covered === 0 ? (
              'not said'
            ) : (
              <>
                {by?.toLowerCase() !== word.toLowerCase() && <Said of={by} line />}
                {covered < 1 && <span className="tn">{shown(covered)}</span>}
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  )
}

/** How likely the best one answers, beside where it would say that it does not know. */
export function Relevance({ of, from = ANSWERS_FROM, isAnswer }: { of: number; from?: number; isAnswer: boolean }) {
  const side = of < from ? `${shown(from - of)} short` : 'answers'
  return (
    <div className="relevance">
      <span
        className="gauge"
        role="img"
        aria-label={`Relevance ${shown(of)} of 1; from ${shown(from)} on it is an answer`}
        style={{ '--part': `${of * 100}%`, '--bar': `${from * 100}%` } as CSSProperties}
      >
        <i />
      </span>
      <span className="row sm">
        <span className="mut">{isAnswer ? `abstains under ${shown(from)}` : `answers from ${shown(from)}`}</span>
        <span className="grow" />
        <b className="b6 tn">
          relevance {shown(of)}: {side}
        </b>
      </span>
    </div>
  )
}
