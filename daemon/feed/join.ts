// Every replica asks management once who it is. Only one of them, the holder of the lease, reads the feed; without this call a second
// replica with a wrong key, id, address or clock would look well until the first one dies and it takes over.
//
//   not joined: degraded, with the reason at /v1/lifecycle/status; the log says why when the reason changes, and once a minute.
//   joined: one line in the log. Not asked again: from then on the age of the feed tells.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import type { Log } from '@loci/chassis/log.ts'
import { type CellRefusal, cellSelf } from '@loci/contract/cells.ts'
import { callManagement, headlineOf, type Management, ManagementSilent, RefusedByManagement } from './management.ts'
import { createRepeats } from './repeats.ts'

export interface JoinOptions extends Management {
  lifecycle: Pick<Lifecycle, 'report'>
  log: Log
}

export interface Joining {
  /** Resolves when the first call has ended, well or not. */
  asked: Promise<void>
  ended: Promise<void>
}

const OUTBOUND_MS = 3_000
const BACKOFF_MS_MAX = 10_000
const UNHEARD = 'not heard since this replica started'

export function startJoining(options: JoinOptions, signal: AbortSignal): Joining {
  const { promise: asked, resolve } = Promise.withResolvers<void>()
  options.lifecycle.report('management', `${UNHEARD}: it has not answered yet`)
  return { asked, ended: join(options, signal, resolve).finally(resolve) }
}

async function join(options: JoinOptions, signal: AbortSignal, onAsked: () => void): Promise<void> {
  const { log, lifecycle } = options
  const isNews = createRepeats()
  for (let backoffMs = 250; !signal.aborted; backoffMs = Math.min(BACKOFF_MS_MAX, backoffMs * 2)) {
    try {
      const timeoutMs = OUTBOUND_MS
      const self = cellSelf.parse(await callManagement(options, 'GET /cell/v1/self', { signal, timeoutMs }))
      lifecycle.report('management', undefined)
      log.info(
        { component: 'feed', url: options.managementUrl },
        `joined: ${self.name}, epoch ${self.epoch}, ${self.instances} instances`,
      )
      return
    } catch (error) {
      if (signal.aborted) return
      lifecycle.report('management', problemOf(error))
      const reason = (error as Error).message
      if (isNews(reason)) log.warn({ component: 'feed', reason }, headlineOf(error))
      onAsked()
      await sleep(backoffMs * (0.5 + Math.random()), undefined, { signal }).catch(() => undefined)
    }
  }
}

const PROBLEMS: Record<CellRefusal, string> = {
  token: 'it can not read the token of this cell',
  audience: 'LOCI_MANAGEMENT_URL is not its LOCI_PUBLIC_URL',
  clock: 'the clocks differ',
  unknown_cell: 'unknown cell id',
  unknown_key: 'unknown key',
}

/** Shown on open routes: no address, no id, no key. The log has them. */
function problemOf(error: unknown): string {
  if (error instanceof ManagementSilent) return `${UNHEARD}: it does not answer`
  if (!(error instanceof RefusedByManagement)) return `${UNHEARD}: its answer is not understood`
  if (error.refusal) return `this replica never joined: refused, ${PROBLEMS[error.refusal]}`
  return `this replica never joined: it answered ${error.status}`
}
