// Looks at services: at once when this process gave the reason, and at everything that is due, whoever gave it. The second is the
// net under the first: a process that is killed after its commit leaves the row in due_services.

import type { Log } from '@loci/chassis/log.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { lookAt, type Rules } from './provisioning.ts'
import { claimDue } from './store.ts'

export interface Reconciler {
  /** After a commit: looks at these at once. Nobody waits for it, and it never throws. */
  look(organizationId: string, serviceIds: string[]): void
  /** After a commit that made others due. */
  kick(): void
  /** Before it nothing is looked at: the database may not be there yet. */
  start(): void
  stop(): Promise<void>
}

const TICK_MS = 500
const CLAIM_MAX = 20
/** When somebody else takes over what a killed process had claimed. */
const PUT_OFF_MS = 5_000
const AT_ONCE_MAX = 4

export function createReconciler({
  pool,
  rules,
  log,
  tell,
}: {
  pool: Pool
  rules: Rules
  log: Log
  /** The feed of this cell has news. */
  tell(cellId: string): void
}): Reconciler {
  const queue: { organizationId: string; serviceId: string }[] = []
  let running = 0
  let ticking: Promise<void> | undefined
  let isStopped = true
  let timer: NodeJS.Timeout | undefined
  let wakeAgain = false
  const idle: (() => void)[] = []

  async function lookOnce(one: { organizationId: string; serviceId: string }): Promise<void> {
    try {
      const cellId = await transaction(pool, (sql) => lookAt(sql, rules, one))
      if (cellId !== undefined) tell(cellId)
    } catch (error) {
      // It is still due, and is looked at again.
      if (!isStopped)
        log.warn({ component: 'provisioning', service: one.serviceId, error }, 'a look at a service failed')
    }
  }

  function pump(): void {
    while (running < AT_ONCE_MAX && queue.length > 0) {
      running += 1
      void lookOnce(queue.shift() as (typeof queue)[number]).then(() => {
        running -= 1
        pump()
      })
    }
    if (running === 0) for (const resolve of idle.splice(0)) resolve()
  }

  const drained = () => (running === 0 ? Promise.resolve() : new Promise<void>((resolve) => idle.push(resolve)))

  async function tick(): Promise<void> {
    for (let more = true; more && !isStopped; ) {
      const due = await claimDue(pool, { now: new Date(), max: CLAIM_MAX, putOffMs: PUT_OFF_MS }).catch((error) => {
        log.warn({ component: 'provisioning', error }, 'what is due could not be read')
        return []
      })
      queue.push(...due)
      pump()
      await drained()
      more = due.length === CLAIM_MAX
    }
  }

  function kick(): void {
    if (isStopped) return
    if (ticking) {
      wakeAgain = true
      return
    }
    ticking = tick().finally(() => {
      ticking = undefined
      if (!wakeAgain) return
      wakeAgain = false
      kick()
    })
  }

  return {
    start() {
      isStopped = false
      timer = setInterval(kick, TICK_MS)
    },
    look(organizationId, serviceIds) {
      if (isStopped) return
      queue.push(...serviceIds.map((serviceId) => ({ organizationId, serviceId })))
      pump()
    },
    kick,
    async stop() {
      isStopped = true
      clearInterval(timer)
      queue.length = 0
      await ticking
      await drained()
    },
  }
}
