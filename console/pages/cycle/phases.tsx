// The phases one after the other, with how much went in and came out of each.

import type { Cycle } from '@loci/sdk/daemon.ts'
import type { CSSProperties } from 'react'
import { count, took } from '../../format.ts'
import { Card } from '../../parts/card.tsx'
import { phaseStretches, phasesEnd } from '../../parts/phases.ts'

export function Phases({ cycle: { phases, durationMs } }: { cycle: Cycle }) {
  const stretches = phaseStretches(phases, phasesEnd(phases))
  return (
    <Card title="Phases" aside={<span className="tn">{took(durationMs)} in all</span>}>
      <table className="waterfall">
        <thead className="sr">
          <tr>
            <th>Phase</th>
            <th>When</th>
            <th>Took</th>
            <th>In and out</th>
          </tr>
        </thead>
        <tbody>
          {phases.map(({ name, durationMs: ms, in: came, out }, at) => {
            const { color, from = 0, width = 0 } = stretches[at] ?? {}
            return (
              <tr key={name}>
                <td className="mut2">{name}</td>
                <td>
                  <span className="track" aria-hidden="true">
                    <i
                      style={
                        { '--from': `${from * 100}%`, '--part': `${width * 100}%`, background: color } as CSSProperties
                      }
                    />
                  </span>
                </td>
                <td className="num">{took(ms)}</td>
                <td className="num mut">
                  {count(came)} → {count(out)}
                </td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </Card>
  )
}
