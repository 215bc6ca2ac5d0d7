// What runs against both planes while machines fail: entries, records, cycles and slots, partners, services and their
// tokens, each with its ledger; and a reader who asks one replica for what the other has just acknowledged.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { addCallers, type WorldCaller } from '../world/callers.ts'
import { runSql } from '../world/sql.ts'
import type { World } from '../world/world.ts'
import { type Creation, create, judge, newCreation, newTally } from './creations.ts'
import { halfCycles, storedCycles } from './cycle-tables.ts'
import { cycleOperations } from './cycle-writers.ts'
import { openLedger } from './kv-ledger.ts'
import { consistencyOf, storedEntries } from './kv-tables.ts'
import { type Maker, type Party, startWriters, type Writer } from './kv-writers.ts'
import { verifyTold } from './partner-tables.ts'
import { startTellers } from './partner-tellers.ts'
import { plainClient } from './plain-client.ts'
import { disagreeingHeads, storedRecords } from './record-tables.ts'
import { recordOperations } from './record-writers.ts'
import { startSlotClients } from './slot-clients.ts'
import { violationsOf } from './slot-history.ts'
import { readSlotLog } from './slot-log.ts'

/** A cell of the world takes a thousand. */
const CREATE_EACH_MS = 3_000
const READ_EACH_MS = 20
/** What judge() calls crooked, made for a world without a cell: a service that is active is due no more. */
const IS_SETTLED = /has 1, 1, 1, 0 operations/

export interface Load {
  /** Of entries, records and cycles, by performance.now(). */
  lastAckAt(): number
  /** Of services and tokens. */
  lastMadeAt(): number
  acked(): number
  /** The history of slots is judged as a whole, so it ends early. */
  stopSlots(): Promise<void>
  stop(): Promise<Judged>
}

export interface Judged {
  lost: string[]
  tookEffect: string[]
  wrong: string[]
  /** Answers older than what had been acknowledged before they were asked for. */
  old: string[]
  acked: Record<string, number>
  reads: number
  consistency: string[]
}

export async function startLoad(
  world: World,
  parties: Party[],
  partners: Party[],
  seed: number,
  name: string,
): Promise<Load> {
  const urls = () => world.daemons.map(({ url }) => url)
  const [party] = parties as [Party]
  const writing = (make: ((writer: Writer) => Maker) | undefined, writers: number, at: string) => {
    const ledger = openLedger()
    return {
      ledger,
      ...startWriters({ parties, urls, ledger, writers, seed, name: `${name}${at}`, ...(make ? { make } : {}) }),
    }
  }
  const entries = writing(undefined, 4, 'kv')
  const records = writing(recordOperations, 2, 'mem')
  const cycles = writing(cycleOperations, 2, 'cyc')
  const databases = [`${name}-slots-0`, `${name}-slots-1`]
  const slots = startSlotClients({ party, urls, databases, keys: ['a', 'b', 'c'], clients: 2, seed })
  const tellers = startTellers({
    parties: partners,
    daemons: () => world.daemons,
    tellers: 1,
    seed,
    name: `${name}prt`,
  })
  const reader = startReader(urls, party, `${name}-reader`)
  const [caller] = (await addCallers(world, { organizations: 1, each: 1, name: `${name}-caller` })) as [WorldCaller]
  const maker = startMaker(() => world.management?.url as string, caller, name)
  let slotsStopped: Promise<void> | undefined
  const stopSlots = () => {
    slotsStopped ??= slots.stop()
    return slotsStopped
  }
  return {
    lastAckAt: () => Math.max(...[entries, records, cycles].map((one) => one.lastAckAt())),
    lastMadeAt: maker.lastMadeAt,
    acked: () => entries.ledger.acked + records.ledger.acked + cycles.ledger.acked + tellers.acked(),
    stopSlots,
    async stop() {
      await Promise.all([
        entries.stop(),
        records.stop(),
        cycles.stop(),
        tellers.stop(),
        stopSlots(),
        reader.stop(),
        maker.stop(),
      ])
      // What was sent and not waited for may still be under way.
      await new Promise((resolve) => setTimeout(resolve, 3_000))
      const { postgres } = world
      const verdicts = [
        entries.ledger.verify(await storedEntries(postgres, `${name}kv`)),
        records.ledger.verify(await storedRecords(postgres, `${name}mem`)),
        cycles.ledger.verify(await storedCycles(postgres, `${name}cyc`)),
      ]
      const told = await verifyTold(postgres, `${name}prt`, tellers.told)
      const made = await judge(postgres, maker.creations)
      const tokens = await missingTokens(postgres, maker.tokens)
      const broken: string[] = []
      for (const [database, operations] of slots.histories)
        broken.push(...violationsOf(operations, await readSlotLog(postgres, party.instanceId, database)))
      const heads = await disagreeingHeads(postgres)
      const half = await halfCycles(postgres, `${name}cyc`)
      const ledgers = [entries, records, cycles].map(({ ledger }) => ledger)
      const states = await Promise.all(urls().flatMap((url) => parties.map(({ token }) => consistencyOf(url, token))))
      return {
        lost: [
          ...verdicts.flatMap(({ lost, strangers }) => [...lost, ...strangers]),
          ...told.lost,
          ...made.lost,
          ...tokens,
        ],
        tookEffect: [...verdicts.flatMap(({ tookEffect }) => tookEffect), ...told.tookEffect],
        wrong: [
          ...[...verdicts.flatMap((one) => one.half), ...told.twice, ...told.half, ...told.heads, ...told.miscounted],
          ...[...ledgers.flatMap(({ contradictions }) => contradictions), ...tellers.wrong, ...slots.wrong, ...broken],
          ...[
            ...heads.wrong,
            ...half.wrong,
            ...made.crooked.filter((line) => !IS_SETTLED.test(line)),
            ...made.differing,
            ...maker.wrong(),
          ],
          ...(made.duplicates > 0 ? [`${made.duplicates} services twice`] : []),
        ],
        old: reader.old,
        reads: reader.reads(),
        acked: {
          entries: entries.ledger.acked,
          records: records.ledger.acked,
          cycles: cycles.ledger.acked / 2,
          slots: slots.count(),
          projections: tellers.acked(),
          services: maker.creations.filter(({ answers }) => answers.length > 0).length,
          tokens: maker.tokens.length,
        },
        consistency: states,
      }
    },
  }
}

/** Writes a number at one replica, and when it is acknowledged reads it at the other. */
function startReader(urls: () => string[], { token }: Party, database: string) {
  const client = plainClient()
  const headers = { 'x-loci-capability': token, 'x-loci-database': database }
  const old: string[] = []
  let reads = 0
  let isOver = false
  const run = async () => {
    for (let turn = 1, acked = 0; !isOver; turn += 1) {
      const [one, other] = turn % 2 === 0 ? urls() : urls().toReversed()
      if (!one || !other) continue
      const put = { method: 'PUT', path: '/v1/kv/entries/turn', headers, body: JSON.stringify({ value: turn }) }
      const written = await client.send(one, put)
      if (written.kind === 'answer' && written.status < 300) acked = turn
      const before = acked
      const read = await client.send(other, { method: 'GET', path: '/v1/kv/entries/turn', headers })
      if (read.kind === 'answer' && read.status === 200) {
        reads += 1
        const { value } = JSON.parse(read.body) as { value: number }
        if (value < before) old.push(`read ${value} after ${before} was acknowledged`)
      } else if (read.kind === 'answer' && read.status === 404 && before > 0)
        old.push(`404 after ${before} was acknowledged`)
      await new Promise((resolve) => setTimeout(resolve, READ_EACH_MS))
    }
    client.close()
  }
  const running = run()
  return {
    old,
    reads: () => reads,
    async stop() {
      isOver = true
      await running
    },
  }
}

/** A customer who makes a service and a token for it, again and again, each until it is answered. */
function startMaker(url: () => string, caller: WorldCaller, name: string) {
  const client = plainClient()
  const tally = newTally()
  const creations: Creation[] = []
  const tokens: string[] = []
  const wrong: string[] = []
  let isOver = false
  let lastMadeAt = 0
  const run = async () => {
    for (let turn = 1; !isOver; turn += 1) {
      const creation = newCreation(`${name}-key-${turn}`, `${name}-made-${turn}`, caller, tally)
      creations.push(creation)
      await create(creation, client, url)
      if (creation.answers.length > 0) lastMadeAt = performance.now()
      // The one before, which its cell has made by now.
      const [answer] = creations.at(-2)?.answers ?? []
      if (answer) {
        const minted = await client.send(url(), {
          method: 'POST',
          path: `/api/v1/tenants/${caller.tenantId}/tokens`,
          headers: { 'x-api-key': caller.apiKey },
          body: JSON.stringify({ service_id: answer.serviceId, ops: ['memory:read'], ttl_seconds: 3600 }),
        })
        if (minted.kind === 'answer' && minted.status === 201) tokens.push(JSON.parse(minted.body).token_id)
        else if (minted.kind === 'answer' && minted.status < 500 && minted.status !== 429 && minted.status !== 409)
          wrong.push(`a token: ${minted.status} ${minted.body.slice(0, 200)}`)
      }
      await new Promise((resolve) => setTimeout(resolve, CREATE_EACH_MS))
    }
    client.close()
  }
  const running = run()
  return {
    creations,
    tokens,
    lastMadeAt: () => lastMadeAt,
    wrong: () => [...wrong, ...tally.wrong],
    async stop() {
      isOver = true
      await running
    },
  }
}

async function missingTokens(postgres: Throwaway, tokens: string[]): Promise<string[]> {
  const rows = await runSql<{ id: string }>(postgres.adminUrl('loci_control'), 'select jti as id from loci.tokens')
  const there = new Set(rows.map(({ id }) => id))
  return tokens.filter((id) => !there.has(id)).map((id) => `token ${id} is not there`)
}
