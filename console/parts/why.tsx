// Why a number is what it is: its parts as a bar, and as a table that adds up. Whether it does is found out here, in
// the browser, for every number that is shown.

import type { CSSProperties } from 'react'
import { score as shown, weight as weighed } from '../format.ts'
import {
  addsUp,
  FAMILIES,
  FAMILY_WORDS,
  familyOf,
  inOrder,
  type Part,
  raised,
  stretches,
  sumOf,
} from './explanation.ts'
import { Icon } from './icon.tsx'

interface SumProps {
  parts: readonly Part[]
  /** What the whole width stands for; the bar fills it where it is left out. */
  scale?: number
}

/** One scale for all bars of a list. */
export function Sum({ parts, scale = raised(parts) }: SumProps) {
  const told = inOrder(parts).map(({ name, contribution }) => `${name} ${shown(contribution)}`)
  return (
    <span className="sum" role="img" aria-label={told.join(', ') || 'nothing contributes'}>
      {stretches(parts, scale || 1).map(({ part, family, from, width }) => (
        <i
          key={part.name}
          data-family={family}
          title={`${part.name} ${shown(part.contribution, { signed: true })}`}
          style={{ '--from': `${from * 100}%`, '--part': `${width * 100}%` } as CSSProperties}
        />
      ))}
    </span>
  )
}

interface WhyProps {
  score: number
  parts: readonly Part[]
  /** Six decimals, to check it by hand. */
  full?: boolean
}

export function Why({ score, parts, full = true }: WhyProps) {
  return (
    <table className="parts">
      <caption className="sr">What {shown(score)} is made of</caption>
      <thead className="sr">
        <tr>
          <th>Part</th>
          <th>Value × weight</th>
          <th>Contribution</th>
        </tr>
      </thead>
      <tbody>
        {parts.map((part) => (
          <tr key={part.name}>
            <td title={FAMILY_WORDS[familyOf(part)]}>
              <i data-family={familyOf(part)} />
              {part.name}
            </td>
            <td className="num mut">
              {shown(part.value)} × {weighed(part.weight)}
            </td>
            <td className="num">{shown(part.contribution, { full })}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <td>sum</td>
          <td className="num">{addsUp(score, parts) ? <AddsUp /> : <Differs score={score} parts={parts} />}</td>
          <td className="num">{shown(sumOf(parts), { full })}</td>
        </tr>
      </tfoot>
    </table>
  )
}

function AddsUp() {
  return (
    <span className="st ok" title="Checked here: the parts sum to the score.">
      <Icon name="check" />
      adds up
    </span>
  )
}

/** Of a server that does not say all: to be told, never to be hidden. */
function Differs({ score, parts }: WhyProps) {
  return (
    <span className="st bad" role="alert">
      <Icon name="cross" />
      {shown(score - sumOf(parts), { full: true, signed: true })} of the score is not told
    </span>
  )
}

export function FamilyLegend() {
  return (
    <div className="legend">
      {FAMILIES.map((family) => (
        <span key={family}>
          <i data-family={family} />
          {FAMILY_WORDS[family]}
        </span>
      ))}
    </div>
  )
}
