// What an answer may lack is said above it.

import type { RecallResult } from '@loci/sdk/daemon.ts'
import { counted } from '../../format.ts'
import { Icon } from '../../parts/icon.tsx'

export function Missing({ of: { incomplete, damaged = [] } }: { of: RecallResult }) {
  return (
    <>
      {incomplete && (
        <div className="note warn">
          <Icon name="warning" />
          <div>
            <b>Some that were true then may be missing.</b>
            <p className="sm">Narrow the question by actor, kind or tag to see all of them.</p>
          </div>
        </div>
      )}
      {damaged.length > 0 && (
        <div className="note bad">
          <Icon name="cross" />
          <div>
            <b>{counted(damaged.length, 'memory is', 'memories are')} damaged, and left out.</b>
            <p className="sm">
              {damaged.map(({ ref, reason }) => (
                <span key={`${ref}/${reason}`} className="id">
                  {ref ?? 'unreadable'} {reason}{' '}
                </span>
              ))}
            </p>
          </div>
        </div>
      )}
    </>
  )
}
