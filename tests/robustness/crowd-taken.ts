// What a crowd at the doors takes of a process, by the process's own metrics: a count, so it is the same on an idle
// machine, where nobody feels a crowd that has no bound, and on a busy one.

import type { LociProcess } from '../world/process.ts'

export interface Taken {
  /** Slots of the limiter at the look in the middle: an address is told apart only when it has failed often enough. */
  slots: number
  /** How often the documents were answered. */
  documents: number
  seconds: number
}

const LOOK_MS = 500
/** The metrics are at most so old. */
const METRICS_MS = 1_000

export async function watchTaken({ url }: LociProcess): Promise<{ stop(): Promise<Taken> }> {
  const before = await look(url)
  const startedAt = performance.now()
  const slots: number[] = []
  let isOver = false
  const looking = (async () => {
    while (!isOver) {
      await sleep(LOOK_MS)
      // Who is too crowded to say it is felt by the customer, too.
      const seen = await look(url).catch(() => undefined)
      if (seen) slots.push(seen.slots)
    }
  })()
  return {
    async stop() {
      isOver = true
      await looking
      await sleep(METRICS_MS)
      const after = await look(url)
      return {
        slots: slots.toSorted((a, b) => a - b)[slots.length >> 1] ?? 0,
        documents: after.documents - before.documents,
        seconds: (performance.now() - startedAt) / 1_000,
      }
    },
  }
}

/** A second ago at most. */
export async function slotsTaken(url: string): Promise<number> {
  return (await look(url)).slots
}

async function look(url: string): Promise<Pick<Taken, 'slots' | 'documents'>> {
  const metrics = await (await fetch(`${url}/metrics`)).text()
  const slots = /^loci_slots_taken (\d+)$/m.exec(metrics)?.[1]
  if (slots === undefined) throw new Error('/metrics does not say how many slots are taken')
  const documents = /^loci_http_request_duration_seconds_count\{route="\/docs",method="GET",code="2xx"\} (\d+)$/m.exec(
    metrics,
  )
  return { slots: Number(slots), documents: Number(documents?.[1] ?? 0) }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
