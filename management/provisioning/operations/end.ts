// Waiting for the end of an operation, for callers that follow a command, or delete something and list right
// afterwards.
//
// All who wait in one organization share one question: after its events have moved on, which of these operations are
// over? Six hundred polls beside a busy customer's events are one small transaction each time, and not six hundred.

import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '@loci/chassis/api-error.ts'
import type { Waiting } from '@loci/chassis/waiting.ts'
import { isId } from '@loci/contract/ids.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { Caller } from '../../access/caller.ts'
import { mayUseTenant, readForCaller } from '../../access/own.ts'
import { useOrganization } from '../../access/store.ts'
import { isOpen } from './operation.ts'
import { findEventEnd, findOperation, listEnded, type StoredOperation } from './store.ts'

export interface OperationEnds {
  /** The operation at its end, at the timeout, or at shutdown. `onWaiting` is called before the first wait. */
  wait(caller: Caller, id: string, ms: number, signal: AbortSignal, onWaiting: () => void): Promise<StoredOperation>
}

/** Between two questions for one organization. */
const REST_MS = 50
const QUESTION_MS_MAX = 5_000

/** `waiting` is for the events of an organization: the end of an operation is one. */
export function createOperationEnds(pool: Pool, waiting: Waiting): OperationEnds {
  const awaited = new Map<string, Map<string, Set<() => void>>>()
  /** Organizations whose poll is delayed; a new waiter triggers one, because its operation may have just ended. */
  const asking = new Map<string, AbortController>()

  const read = (caller: Caller, id: string): Promise<StoredOperation> =>
    readForCaller(pool, caller, async (sql) => {
      const operation = isId('op', id) ? await findOperation(sql, caller.organizationId, id) : undefined
      if (!operation || !mayUseTenant(caller, operation.tenantId))
        throw new ApiError('NOT_FOUND', 'There is no such operation. A service names its last one as operation_id.')
      return operation
    })

  /** While anybody waits in the organization. */
  async function follow(organizationId: string, operations: Map<string, Set<() => void>>): Promise<void> {
    while (operations.size > 0 && !waiting.hasEnded()) {
      const rest = new AbortController()
      asking.set(organizationId, rest)
      // The number first: an event between the two is then seen as news, never missed.
      const look = async () =>
        transaction(
          pool,
          async (sql) => {
            await useOrganization(sql, organizationId)
            const seq = await findEventEnd(sql, organizationId)
            return { seq, ended: await listEnded(sql, organizationId, [...operations.keys()]) }
          },
          { readOnly: true },
        )
      const found = await look().catch(() => undefined)
      for (const id of found?.ended ?? []) for (const wake of operations.get(id) ?? []) wake()
      if (operations.size === 0) break
      if (found) await waiting.wait(organizationId, found.seq, QUESTION_MS_MAX, rest.signal)
      await sleep(REST_MS)
    }
    awaited.delete(organizationId)
    asking.delete(organizationId)
    // The process is about to end: answer at once.
    for (const waiters of operations.values()) for (const wake of waiters) wake()
  }

  function untilEnded(organizationId: string, id: string, ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const isFirst = !awaited.has(organizationId)
      const operations = awaited.get(organizationId) ?? new Map<string, Set<() => void>>()
      awaited.set(organizationId, operations)
      const waiters = operations.get(id) ?? new Set()
      operations.set(id, waiters.add(wake))
      const timeout = setTimeout(wake, ms)
      signal.addEventListener('abort', wake, { once: true })
      if (isFirst) void follow(organizationId, operations)
      else asking.get(organizationId)?.abort()

      function wake(): void {
        clearTimeout(timeout)
        signal.removeEventListener('abort', wake)
        waiters.delete(wake)
        if (waiters.size === 0) operations.delete(id)
        resolve()
      }
    })
  }

  return {
    async wait(caller, id, ms, signal, onWaiting) {
      const operation = await read(caller, id)
      if (!isOpen(operation) || ms <= 0 || waiting.hasEnded()) return operation
      onWaiting()
      await untilEnded(caller.organizationId, id, ms, signal)
      return read(caller, id)
    },
  }
}
