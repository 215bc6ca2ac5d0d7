// Waiting for the end of an operation: whoever follows a command, and who deletes something and lists right afterwards.

import { ApiError } from '@loci/chassis/api-error.ts'
import { isId } from '@loci/contract/ids.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller } from '../access/caller.ts'
import { mayUseTenant, readOwn } from '../access/own.ts'
import type { Waiting } from '../waiting.ts'
import { isOpen } from './operation.ts'
import { findEventEnd, findOperation, type StoredOperation } from './store.ts'

export interface OperationEnds {
  /** As it is when it is over, when the time is, or when the process is about to end. `onWaiting` before the first wait. */
  wait(caller: Caller, id: string, ms: number, signal: AbortSignal, onWaiting: () => void): Promise<StoredOperation>
}

/** `waiting` is for the events of an organization: the end of an operation is one. */
export function createOperationEnds(pool: Pool, waiting: Waiting): OperationEnds {
  const read = (caller: Caller, id: string): Promise<{ operation: StoredOperation; seq: number }> =>
    readOwn(pool, caller, async (sql) => {
      // The number first: an event between the two is then seen as news, never missed.
      const seq = await findEventEnd(sql, caller.organizationId)
      const operation = isId('op', id) ? await findOperation(sql, caller.organizationId, id) : undefined
      if (!operation || !mayUseTenant(caller, operation.tenantId))
        throw new ApiError('NOT_FOUND', 'There is no such operation. A service names its last one as operation_id.')
      return { operation, seq }
    })

  return {
    async wait(caller, id, ms, signal, onWaiting) {
      const endsAt = performance.now() + ms
      let found = await read(caller, id)
      if (isOpen(found.operation) && ms > 0) onWaiting()
      // Each event of the organization is a reason to look again; its own end is one of them.
      while (isOpen(found.operation) && performance.now() < endsAt && !signal.aborted) {
        await waiting.wait(caller.organizationId, found.seq, endsAt - performance.now(), signal)
        found = await read(caller, id)
        if (waiting.hasEnded()) break
      }
      return found.operation
    },
  }
}
