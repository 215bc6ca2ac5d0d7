// The load that writes and asks while a cell is backed up and restored.

import { ask } from '@loci/chassis/testing/request.ts'
import { runSql } from '../../world/sql.ts'
import type { WorldTenant } from '../../world/tenants.ts'
import type { World } from '../../world/world.ts'
import { openLedger } from '../kv-ledger.ts'
import { type Party, startWriters } from '../kv-writers.ts'

const WRITERS = 6
export const SERVES_MS_MAX = 120_000
const SECRET = 'The launch code is tulip'

export function writing(world: World, party: Party, name: string, seed: number) {
  const ledger = openLedger()
  const urls = () => world.daemons.map(({ url }) => url)
  const writers = startWriters({ parties: [party], urls, ledger, writers: WRITERS, seed, name })
  return {
    ledger,
    writers,
    /** So many more than there are. */
    async until(more: number) {
      const enough = ledger.acked + more
      for (const until = performance.now() + 300_000; ledger.acked < enough && performance.now() < until; )
        await sleep(20)
    },
  }
}

export function partyOf({ serviceId, capability }: WorldTenant): Party {
  return { instanceId: serviceId, token: capability.token }
}

/** Each content once: what was deleted is not stored again. */
export async function stored(world: World, { capability }: WorldTenant, content = SECRET): Promise<{ id: string }> {
  const headers = { 'x-loci-capability': capability.token }
  const answer = await ask(urlOf(world), 'POST /v1/memory/records', { headers, body: { content } })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  return answer.json()
}

/** And known to management. */
export async function deleted(world: World, { capability }: WorldTenant, id: string): Promise<void> {
  const headers = { 'x-loci-capability': capability.token }
  const answer = await ask(urlOf(world), `DELETE /v1/memory/records/${id}`, { headers })
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`)
  for (;;) {
    const rows = await runSql(
      world.postgres.adminUrl('loci_cell'),
      'select from loci.deletions where reported_at is null',
    )
    if (rows.length === 0) return
    await sleep(100)
  }
}

export type Watch = ReturnType<typeof watching>

/** Asks for what was deleted, all the time. */
export function watching(urls: string[], { capability }: WorldTenant) {
  const counts = { asked: 0, held: 0, found: 0 }
  let isOver = false
  const headers = { 'x-loci-capability': capability.token }
  const question = { headers, body: { query: 'launch code' } }
  const run = async () => {
    for (let turn = 0; !isOver; turn += 1) {
      const url = urls[turn % urls.length] as string
      const answer = await ask(url, 'POST /v1/memory/recall', question).catch(() => undefined)
      await sleep(10)
      if (!answer) continue
      counts.asked += 1
      if (answer.status === 503) counts.held += 1
      if (answer.text.includes('tulip')) counts.found += 1
    }
  }
  const running = run()
  return {
    counts,
    async stop() {
      isOver = true
      await running
      return counts
    },
  }
}

/** How long until every replica answers a recall. */
export async function untilServed(world: World, { capability }: WorldTenant): Promise<number> {
  const startedAt = performance.now()
  const headers = { 'x-loci-capability': capability.token }
  for (const { url } of world.daemons)
    for (;;) {
      const answer = await ask(url, 'POST /v1/memory/recall', { headers, body: { query: 'launch code' } }).catch(
        () => undefined,
      )
      if (answer?.status === 200) break
      if (performance.now() - startedAt > SERVES_MS_MAX)
        throw new Error(`not served: ${answer?.status} ${answer?.text}`)
      await sleep(50)
    }
  return Math.round(performance.now() - startedAt)
}

export function urlOf(world: World): string {
  return (world.daemons[0] as { url: string }).url
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
