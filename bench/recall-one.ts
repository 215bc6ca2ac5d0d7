// Recall over HTTP in one large database, and what others notice of it.

import { corpusOf } from './recall-corpus.ts'
import { askQuestions, holdUntil, median, probe, send, shown, storeAll, withRecallWorld } from './recall-world.ts'

/** ms: the 99th percentile of a recall, and the first one of a process. */
const TARGETS = [
  { items: 15_000, p99Ms: 10, firstMs: 150 },
  { items: 100_000, p99Ms: 50, firstMs: 500 },
]
const LIVE_P99_MS = 100
/** So many at once keep every core busy. */
const CONNECTIONS = 8

export async function measureOne(
  items: number,
  { short, hold, settings }: { short: boolean; hold?: string | undefined; settings: Record<string, string> },
): Promise<boolean> {
  const { p99Ms, firstMs } = TARGETS.find((one) => one.items >= items) ?? (TARGETS.at(-1) as (typeof TARGETS)[number])
  const seconds = short ? 3 : 10
  return withRecallWorld(settings, async (bench) => {
    const corpus = corpusOf(items)
    const { tenant } = bench
    const other = await bench.newTenant('other')
    await send(bench, other, 'default', 'PUT /v1/kv/entries/probe', { value: 'a small fact' })
    const startedAt = performance.now()
    await storeAll(bench, tenant, 'large', corpus)
    console.log(
      `\n${items} records in one database, stored in ${Math.round((performance.now() - startedAt) / 1_000)} s`,
    )
    await holdUntil(hold)
    const databases = ['large']
    const quiet = await probe(bench, other, () => new Promise((resolve) => setTimeout(resolve, 2_000)))
    const alone = await askQuestions(bench, tenant, corpus, { databases, connections: 1, seconds })
    console.log(`  one client: ${shown(alone)}`)
    await bench.judge('p99 of a recall', alone.p99Ms, p99Ms, 'ms')
    const busy = await probe(bench, other, () =>
      askQuestions(bench, tenant, corpus, { databases, connections: CONNECTIONS, seconds }),
    )
    console.log(`  ${CONNECTIONS} clients: ${shown(busy.result)}`)
    console.log(`  another tenant's read without them: p99 ${quiet.p99Ms.toFixed(2)} ms`)
    await bench.judge("p99 of another tenant's read meanwhile", busy.p99Ms, LIVE_P99_MS, 'ms')
    await measureFirst()

    async function measureFirst(): Promise<void> {
      const [firsts, longest]: [number[], number[]] = [[], []]
      for (let n = 0; n < (short ? 3 : 5); n += 1) {
        await bench.restart()
        const query = corpus.questions[n * 100]?.text ?? 'What did she say?'
        const probed = await probe(bench, other, async () => {
          await new Promise((resolve) => setTimeout(resolve, 1_000))
          const askedAt = performance.now()
          await send(bench, tenant, 'large', 'POST /v1/memory/recall', { query })
          const took = performance.now() - askedAt
          await new Promise((resolve) => setTimeout(resolve, 500))
          return took
        })
        firsts.push(probed.result)
        longest.push(probed.longestMs)
      }
      const texts = (times: number[]) => times.map((ms) => Math.round(ms)).join(', ')
      console.log(
        `  first recalls after restarts ${texts(firsts)} ms; another's longest read meanwhile ${texts(longest)}`,
      )
      await bench.judge('first recall after a restart', median(firsts), firstMs, 'ms')
      await bench.judge("another tenant's longest read beside it", median(longest), LIVE_P99_MS, 'ms')
    }
  })
}
