// What a cycle did to the working memory, in one line: 10 held → 5 came, 8 left → 7 held, 5 said.

import type { Cycle } from '@loci/sdk/daemon.ts'
import { count } from '../format.ts'
import { Icon } from './icon.tsx'

export function Flow({
  of: { workingMemory, decisions, broadcast },
}: {
  of: Pick<Cycle, 'workingMemory' | 'decisions' | 'broadcast'>
}) {
  const { before, after } = workingMemory
  return (
    <p className="flow tn">
      <span>
        <b>{count(before.slotCount)}</b> held
      </span>
      <Icon name="next" />
      <span className="k-came">
        <b>{count(decisions.admitted)}</b> came
      </span>
      <span className="k-left">
        <b>{count(decisions.evicted)}</b> left
      </span>
      <Icon name="next" />
      <span>
        <b>{count(after.slotCount)}</b> held, <b>{count(broadcast.length)}</b> said
      </span>
    </p>
  )
}
