import { type Route, route } from '@loci/chassis/route.ts'
import { type RecallRequest, recallRequest, recallResult } from '@loci/contract/memory.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import type { Due } from '../databases/store.ts'
import type { RecallIndex } from './index/recall-index.ts'
import { rowsOfWork } from './index/search.ts'
import type { Parts } from './parts/parts.ts'
import { candidatesMax, filterOf, type Recalled, selectFrom } from './recall.ts'
import { damagedOf, SHARED } from './routes.ts'
import { findNumbered, type StoredRecord, unreadable } from './store.ts'
import type { Tails } from './tails.ts'
import { languageOf, weightsOf } from './upkeep/config.ts'
import { recordTextOf } from './upkeep/indexing.ts'
import type { IndexState } from './upkeep/store.ts'

interface RecallOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
  index: RecallIndex
  parts: Parts
  tails: Tails
}

/** What a recall has read, which is what it is charged by. */
interface Read {
  rows: number
  bytes: number
}

export function recallRoutes({ access, pool, shares, index, parts, tails }: RecallOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/memory/recall',
        access: access.capability('memory:read'),
        summary: 'Recall what answers a question, best first, with the reasons.',
        body: recallRequest,
        answers: { 200: recallResult },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, body, countRows, countRead, requireRate }) => {
        const startedAt = performance.now()
        // A few of an instance at once: what a recall costs is known when it is answered.
        return shares.inTurn(caller.instance.id, async () => {
          requireRate()
          const read: Read = { rows: 0, bytes: 0 }
          const { recalled, asOfSeq, incomplete, damaged } = await find(caller, body, read)
            .catch((error) => {
              throw isUnreadable(error) ? unreadable(error) : error
            })
            .finally(() => {
              countRows(read.rows)
              countRead(read.bytes)
            })
          const results = recalled.hits.map((hit) => resultOf(hit, body.explain))
          const { abstained, total } = recalled
          const tookMs = Math.round((performance.now() - startedAt) * 1_000) / 1_000
          return { results, abstained, total, incomplete, asOfSeq, tookMs, ...damaged }
        })
      },
    ),
  ]

  async function find({ instance, database }: Caller, request: RecallRequest, read: Read) {
    const place: Due = { instanceId: instance.id, database }
    const asOf = request.asOf === undefined ? null : new Date(request.asOf)
    const { state, tail, damaged: unread } = await tails.read(pool, place, asOf)
    for (const { body } of [...state.texts, ...state.closed]) addRow(read, body.content.length)
    const language = languageOf(state)
    const weights = weightsOf(state)
    const segments = await parts.of(place, state, language, (rows, bytes) => {
      read.rows += rows
      read.bytes += bytes
    })
    const ranked = await index.search({
      instanceId: instance.id,
      database: `${database}@${state.life}`,
      language,
      segments,
      tail: [...tail, ...state.closed.map(recordTextOf)],
      masked: state.changed,
      query: request.query,
      options: { limit: candidatesMax(request), weights, filter: filterOf(request) },
      onWork: (work) => {
        read.rows += rowsOfWork(work)
      },
    })
    const selection = selectFrom(ranked, request, { now: (asOf ?? state.now).getTime(), seq: state.seq, weights })
    // Those of the tail are named too: nobody can say whether they would have been an answer.
    const damaged: StoredRecord[] = unread.length === 0 ? [] : await findNumbered(pool, instance.id, database, unread)
    for (let seqs = selection.next(); seqs.length > 0; seqs = selection.next()) {
      const rows = await findNumbered(pool, instance.id, database, seqs)
      for (const row of rows) addRow(read, row.intact ? row.body.length : 0)
      selection.take(rows.filter((row) => row.intact))
      damaged.push(...rows.filter((row) => !row.intact))
    }
    damaged.push(...unnamed(state, damaged))
    const recalled = selection.answer()
    // Those are counted with the answer.
    for (const { row } of recalled.hits) read.bytes -= row.body.length
    const incomplete = recalled.isCut || state.isClosedCut || state.unreadable > 0
    return { recalled, asOfSeq: state.seq, incomplete, damaged: damagedOf(damaged) }
  }
}

/** Of records that ended and cannot be read, those that are not among the candidates. */
function unnamed({ unreadable, through }: IndexState, damaged: StoredRecord[]): StoredRecord[] {
  const known = damaged.filter((row) => !row.intact && row.isUnreadable && row.seq <= through).length
  return Array.from({ length: Math.max(0, unreadable - known) }, () => ({
    ...{ id: null, seq: 0, intact: false, isUnreadable: true },
  }))
}

function addRow(read: Read, bytes: number): void {
  read.rows += 1
  read.bytes += bytes
}

function resultOf({ row, body, score, explain }: Recalled['hits'][number], isExplained: boolean) {
  return {
    id: row.id,
    content: body.content,
    kind: body.kind,
    score,
    explain: isExplained ? explain : null,
    evidenceRefs: body.evidenceRefs,
    tags: body.tags,
    contextId: body.contextId,
    actor: body.actor,
    source: body.source,
    createdAt: row.createdAt.toISOString(),
    occurredAt: body.occurredAt,
    validFrom: row.validFrom.toISOString(),
    validTo: row.validTo?.toISOString() ?? null,
    version: row.version,
  }
}
