// Every replica calls management once at its start. Only the holder of the lease reads the feed, so without this call a
// second replica with a wrong key, id, address or clock would look healthy until it has to take over.
//
//   not joined: degraded, with the reason at /v1/lifecycle/status; logged when the reason changes, and once a minute.
//   joined: one log line. Not called again: from then on the age of the feed shows problems.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Job } from '@loci/chassis/jobs.ts'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Log } from '@loci/chassis/log.ts'
import { type CellRefusal, cellSelf } from '@loci/contract/cells.ts'
import { callManagement, headlineOf, type Management, ManagementSilent, RefusedByManagement } from './management.ts'

export interface JoinOptions extends Management {
  lifecycle: Pick<Lifecycle, 'report'>
  log: Log
}

export interface Join {
  job: Job
  /** Asks for the first time. Resolves when there is an answer of any kind, at the latest after JOIN_MS. */
  ask(signal: AbortSignal): Promise<void>
}

const OUTBOUND_MS = 3_000
/** How long a start waits for management's first answer. Without it the replica serves, and is `degraded`. */
const JOIN_MS = 1_000
const NO_CONTACT = 'no contact since this replica started'

export function createJoin(options: JoinOptions): Join {
  const { log, lifecycle } = options
  lifecycle.report('management', `${NO_CONTACT}: it has not answered yet`)
  let isJoined = false
  let asking: Promise<void> | undefined

  async function join(signal: AbortSignal): Promise<void> {
    try {
      const call = callManagement(options, 'GET /cell/v1/self', { signal, timeoutMs: OUTBOUND_MS })
      const self = cellSelf.parse(await call)
      isJoined = true
      lifecycle.report('management', undefined)
      log.info(
        { component: 'feed', url: options.managementUrl },
        `joined: ${self.name}, epoch ${self.epoch}, ${self.instances} instances`,
      )
    } catch (error) {
      if (!signal.aborted) lifecycle.report('management', problemOf(error))
      throw error
    } finally {
      asking = undefined
    }
  }

  return {
    job: {
      name: 'feed',
      atStart: true,
      everyMs: JOIN_MS,
      backoff: { ms: 250, msMax: 10_000 },
      failure: headlineOf,
      async run(signal) {
        asking ??= isJoined ? Promise.resolve() : join(signal)
        await asking
        return 'done'
      },
    },
    async ask(signal) {
      asking ??= join(signal)
      const waited = sleep(JOIN_MS, undefined, { signal, ref: false })
      // A failure is logged by the job, which asks again.
      await Promise.race([asking, waited]).catch(() => undefined)
    },
  }
}

const PROBLEMS: Record<CellRefusal, string> = {
  token: 'it cannot read the token of this cell',
  audience: 'LOCI_MANAGEMENT_URL is not its LOCI_PUBLIC_URL',
  clock: 'the clocks differ',
  unknown_cell: 'unknown cell id',
  unknown_key: 'unknown key',
}

/** Shown on open routes: no address, no id, no key. The log has them. */
function problemOf(error: unknown): string {
  if (error instanceof ManagementSilent) return `${NO_CONTACT}: it does not answer`
  if (!(error instanceof RefusedByManagement)) return `${NO_CONTACT}: its answer is malformed`
  if (error.refusal) return `this replica never joined: refused, ${PROBLEMS[error.refusal]}`
  return `this replica never joined: it answered ${error.status}`
}
