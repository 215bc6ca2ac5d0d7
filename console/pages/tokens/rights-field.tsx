// Rights as chips: on, off, or not to be had, and then why.

import type { Operation } from '@loci/contract/operations.ts'
import { Icon } from '../../parts/icon.tsx'
import { joinReasons } from './rights.ts'

interface RightsProps {
  ops: readonly Operation[]
  isOn(op: Operation): boolean
  whyNot(op: Operation): string | undefined
  onToggle(op: Operation): void
}

export function Rights({ ops, isOn, whyNot, onToggle }: RightsProps) {
  const reasons = ops.map(whyNot).filter((reason) => reason !== undefined)
  return (
    <>
      <div className="ops">
        {ops.map((op) => {
          const reason = whyNot(op)
          return (
            <label key={op} className={`op${reason ? ' no' : ''}`} title={reason}>
              <input
                type="checkbox"
                checked={isOn(op) && !reason}
                disabled={reason !== undefined}
                onChange={() => onToggle(op)}
              />
              {reason && <Icon name="lock" />}
              {!reason && isOn(op) && <Icon name="check" />}
              <code>{op}</code>
            </label>
          )
        })}
      </div>
      {reasons.length > 0 && (
        <span className="sm mut">
          <Icon name="lock" /> {joinReasons(reasons)}
        </span>
      )}
    </>
  )
}
