// What is stored on one replica is recalled on the other by the next request, every time, while segments are built,
// records superseded and erased; and the answers are the same in a process that has nothing in memory and with no
// segment at all.

import { plantMutant } from '../world/mutant.ts'
import { untilReady } from '../world/process.ts'
import { mapWidth, reportOn } from '../world/report.ts'
import { runSql } from '../world/sql.ts'
import { addTenant } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const isShort = process.argv.includes('--short')
const ROUNDS = isShort ? 500 : 10_000
const WIDTH = 8
const DATABASES = isShort ? 1 : 4
const QUESTIONS = isShort ? 40 : 200
const COPIES = isShort ? 2_000 : 10_000
/** Every so often a record of an earlier round is erased, and another superseded. */
const ERASED_EVERY = 20
const THINGS = 'gate boiler archive greenhouse workshop cellar library garage attic kitchen'.split(' ')
const PANELS = 'copper walnut linen marble velvet amber cobalt bamboo pewter saffron'.split(' ')

await reportOn(async (report) => {
  const world = await startWorld({ replicas: 2 })
  try {
    const { capability } = await addTenant(world, { name: 'acme', plan: 'enterprise' })
    const { token } = capability
    const urls = world.daemons.map(({ url }) => url)
    const kept = await rounds(urls, token, ROUNDS)
    report.promise(
      'what one replica stored the other recalls at once, and what was erased nobody does',
      kept.missed === 0 && kept.seen === 0,
      `${kept.missed} missed, ${kept.seen} erased ones seen in ${ROUNDS} rounds`,
    )
    await sameEverywhere(world, token, report)
    const left = await besideCopies(urls[0], token)
    report.promise(
      "near copies by one actor leave another's facts in the first ten",
      left >= 9,
      `${left} of ${THINGS.length} beside ${COPIES} copies`,
    )
    await using mutant = await plantMutant([
      // A tail that is read once: what another replica stored since is not in it.
      {
        file: 'daemon/memory/tails.ts',
        from: 'for (const seq of state.tail) {',
        to: 'for (const seq of before ? before.rows.keys() : state.tail) {',
      },
    ])
    const sabotaged = await mutant.startProgram('daemon', world.daemonSettings())
    await untilReady(sabotaged.url)
    const found = await rounds([urls[0] as string, sabotaged.url], token, 50, 'm').finally(() => sabotaged.stop())
    report.mutant('a tail that is read once', found.missed > 0 ? `${found.missed} of 50 missed` : undefined)
  } finally {
    await world.stop()
  }
})

async function rounds(urls: string[], token: string, count: number, name = 'r') {
  const ids: { id: string; database: string; word: string }[] = []
  let missed = 0
  let seen = 0
  await mapWidth(Array.from({ length: count }), WIDTH, async (_, n) => {
    const [here, there] = n % 2 === 0 ? [urls[0], urls[1]] : [urls[1], urls[0]]
    const database = `${name}${n % DATABASES}`
    const word = `tulip${name}${n}`
    const content = `The launch code number ${n} is ${word}`
    const { id } = await ask<{ id: string }>(here, token, database, 'POST', '/v1/memory/records', {
      ...{ content, contextId: `chat ${n % 50}`, actor: `actor ${n % 40}`, sourceEventId: `${name} ${n}` },
    })
    if (!(await recalled(there, token, database, word)).some((one) => one.id === id)) missed += 1
    ids.push({ id, database, word })
    if (n % ERASED_EVERY === ERASED_EVERY - 1) {
      const gone = ids.splice(Math.floor(ids.length / 2), 1)[0] as (typeof ids)[number]
      await ask(here, token, gone.database, 'DELETE', `/v1/memory/records/${gone.id}`)
      if ((await recalled(there, token, gone.database, gone.word)).some((one) => one.id === gone.id)) seen += 1
    }
  })
  return { missed, seen }
}

/** How many of Ada's facts are among the first ten answers to their own questions, beside what Mallory sent. */
async function besideCopies(url: string | undefined, token: string): Promise<number> {
  const facts = THINGS.map((thing, n) => ({
    ...{ content: `The key of the ${thing} hangs behind the ${PANELS[n]} panel near the door.`, actor: 'Ada' },
    ...{ contextId: `house ${n}`, sourceEventId: `fact ${n}` },
  }))
  const copies = Array.from({ length: COPIES }, (_, n) => ({
    content: `The key of the ${THINGS[n % 10]} hangs behind the plastic panel near door ${n}, filler${(n * 7_919) % 400}.`,
    ...{ actor: 'Mallory', contextId: `flood ${n >> 4}`, sourceEventId: `copy ${n}` },
  }))
  const records = [...copies.slice(0, COPIES / 2), ...facts, ...copies.slice(COPIES / 2)]
  const batches = Array.from({ length: Math.ceil(records.length / 100) }, (_, n) =>
    records.slice(n * 100, n * 100 + 100),
  )
  for (const batch of batches) await ask(url, token, 'flooded', 'POST', '/v1/memory/records/batch', { records: batch })
  const found = await mapWidth(facts, 1, async ({ content }, n) => {
    const query = `Behind which panel hangs the key of the ${THINGS[n]}?`
    const { results } = await ask<{ results: { content: string }[] }>(
      url,
      token,
      'flooded',
      'POST',
      '/v1/memory/recall',
      {
        query,
      },
    )
    return results.some((one) => one.content === content)
  })
  return found.filter(Boolean).length
}

type Report = Parameters<Parameters<typeof reportOn>[0]>[0]

/** As of a moment, so that the base level does not tell two answers apart. */
async function sameEverywhere(world: World, token: string, report: Report): Promise<void> {
  const asOf = new Date().toISOString()
  const [warm, other] = world.daemons.map(({ url }) => url)
  const answers = async (url: string | undefined) =>
    mapWidth(Array.from({ length: QUESTIONS }), WIDTH, async (_, n) => {
      const at = Math.floor((n * ROUNDS) / QUESTIONS)
      const query = { query: n % 2 ? `launch code tulipr${at}` : `which launch code is number ${at}?`, limit: 20, asOf }
      const { results } = await ask<{ results: object[] }>(
        url,
        token,
        `r${at % DATABASES}`,
        'POST',
        '/v1/memory/recall',
        {
          ...{ ...query, explain: true },
        },
      )
      return JSON.stringify(results)
    })
  const before = await answers(warm)
  const differing = async (url: string | undefined) =>
    (await answers(url)).filter((answer, n) => answer !== before[n]).length
  const replica = await differing(other)
  report.promise('both replicas answer alike', replica === 0, `${replica} of ${QUESTIONS} differ`)
  const cold = await world.startDaemon()
  const fresh = await differing(cold.url).finally(() => cold.stop())
  report.promise('a process that has nothing in memory answers alike', fresh === 0, `${fresh} of ${QUESTIONS} differ`)
  const [{ n } = { n: 0 }] = (await runSql(
    world.postgres.adminUrl('loci_cell'),
    `with gone as (delete from loci.segments where database like 'r%' returning 1) select count(*)::int as n from gone`,
  )) as { n: number }[]
  const without = await differing(warm)
  const segments = `${without} of ${QUESTIONS} differ, ${n} segments dropped`
  report.promise('so it is without any segment', without === 0 && n > 0, segments)
}

async function recalled(url: string | undefined, token: string, database: string, word: string) {
  const body = { query: `launch code ${word}`, limit: 5 }
  return (await ask<{ results: { id: string }[] }>(url, token, database, 'POST', '/v1/memory/recall', body)).results
}

async function ask<Body>(
  url: string | undefined,
  token: string,
  database: string,
  method: string,
  path: string,
  body?: object,
): Promise<Body> {
  for (let tries = 0; ; tries += 1) {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { 'x-loci-capability': token, 'x-loci-database': database, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    const json = (await answer.json()) as Body & { error?: { code: string } }
    if (answer.status === 200 || (method === 'DELETE' && tries > 0 && answer.status === 404)) return json
    // Nothing was done, or nobody knows: stored again by its source event it is the same record, deleted again it is
    // gone. Come back when told to.
    const isOver = ![429, 503].includes(answer.status) && json.error?.code !== 'OUTCOME_UNKNOWN'
    if (isOver || tries > 20) throw new Error(`${path}: ${JSON.stringify(json)}`)
    await new Promise((resolve) => setTimeout(resolve, 1_000 * Number(answer.headers.get('retry-after') ?? 1)))
  }
}
