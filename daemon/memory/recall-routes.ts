import { type Route, route } from '@loci/chassis/route.ts'
import { type RecallRequest, recallRequest, recallResult } from '@loci/contract/memory.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import type { Due } from '../databases/store.ts'
import type { RecallIndex } from './index/recall-index.ts'
import { candidatesMax, filterOf, type Recalled, selectFrom } from './recall.ts'
import { damagedOf, SHARED } from './routes.ts'
import { findNumbered, type StoredRecord, unreadable } from './store.ts'
import { createTails } from './tails.ts'
import { formatOf, languageOf, weightsOf } from './upkeep/config.ts'
import { recordTextOf, segmentBody } from './upkeep/indexing.ts'
import { partsOf } from './upkeep/segments.ts'

interface RecallOptions {
  access: CapabilityAccess
  pool: Pool
  index: RecallIndex
}

export function recallRoutes({ access, pool, index }: RecallOptions): Route[] {
  const tails = createTails()
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
      async ({ caller, body, countRows }) => {
        const startedAt = performance.now()
        const { recalled, asOfSeq, damaged } = await find(caller, body).catch((error) => {
          throw isUnreadable(error) ? unreadable(error) : error
        })
        countRows(recalled.hits.length)
        const results = recalled.hits.map((hit) => resultOf(hit, body.explain))
        const { abstained, total } = recalled
        const tookMs = Math.round((performance.now() - startedAt) * 1_000) / 1_000
        return { results, abstained, total, asOfSeq, tookMs, ...damaged }
      },
    ),
  ]

  async function find({ instance, database }: Caller, request: RecallRequest) {
    const place: Due = { instanceId: instance.id, database }
    const asOf = request.asOf === undefined ? null : new Date(request.asOf)
    const { state, tail } = await tails.read(pool, place, asOf)
    const language = languageOf(state)
    const weights = weightsOf(state)
    const parts = partsOf(state, formatOf(language))
    const ranked = await index.search({
      instanceId: instance.id,
      database: `${database}@${state.life}`,
      language,
      segments: parts.map((part) => ({
        // What is read from the records is of this moment alone.
        id: part.isUsable ? String(part.id) : `${part.from}-${part.through}@${state.seq}`,
        load: () => segmentBody(pool, index, place, part, language),
      })),
      tail: [...tail, ...state.closed.map(recordTextOf)],
      masked: state.changed,
      query: request.query,
      options: { limit: candidatesMax(request), weights, filter: filterOf(request) },
    })
    const selection = selectFrom(ranked, request, { now: (asOf ?? state.now).getTime(), weights })
    const damaged: StoredRecord[] = []
    for (let seqs = selection.next(); seqs.length > 0; seqs = selection.next()) {
      const rows = await findNumbered(pool, instance.id, database, seqs)
      selection.take(rows.filter((row) => row.intact))
      damaged.push(...rows.filter((row) => !row.intact))
    }
    return { recalled: selection.answer(), asOfSeq: state.seq, damaged: damagedOf(damaged) }
  }
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
