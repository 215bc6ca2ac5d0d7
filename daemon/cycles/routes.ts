// Cycles: run, list, get, decisions, statistics.

import { type Claim, type Claims, inProgress, REPEAT_ERRORS } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Call, type Route, route } from '@loci/chassis/route.ts'
import {
  averageDurationMs,
  type Cycle,
  cycle,
  cycleDecisions,
  cycleDecisionsQuery,
  cycleList,
  cycleListQuery,
  cycleRan,
  cycleRun,
  cycleStatistics,
} from '@loci/contract/cognitive.ts'
import { isId } from '@loci/contract/ids.ts'
import { idPath } from '@loci/contract/wire.ts'
import { isUnreadable } from '@loci/postgres/errors.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import { cursorOf, seqOf } from '../databases/cursors.ts'
import { tooManyKept } from '../idempotency/idempotency.ts'
import { findAnswer, isClaimed, settledAnswer } from '../idempotency/store.ts'
import type { Source } from '../memory/records.ts'
import { attemptsOf } from './health.ts'
import { corruptionOf, cycleDamaged, cycleOf, decisionOf, judgePage, noCycle } from './records.ts'
import type { CycleHead } from './rows.ts'
import type { Cycles } from './run.ts'
import type { Decision } from './shapes.ts'
import { findCycle, findDecisions, listCycles, readHead } from './store.ts'
import { quarantine } from './upkeep/store.ts'

interface CycleOptions {
  access: CapabilityAccess
  pool: Pool
  shares: PoolShares
  claims: Claims<Caller>
  cycles: Cycles
}

export const SHARED = { tag: 'cognitive cycles', subservice: 'cognitive' } as const

const DAY_MS = 86_400_000

export function cycleRoutes({ access, pool, shares, claims, cycles }: CycleOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/cognitive/cycles',
        access: access.capability('cycles:run'),
        summary: 'Run a cognitive cycle.',
        details: 'It takes in what was observed, decides what stays in mind, and says why.',
        body: cycleRun,
        bodyDefault: {},
        refusesUnknownNames: true,
        answers: { 200: cycleRan },
        errors: ['CYCLE_BUSY', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED', ...REPEAT_ERRORS],
      },
      async (call) => {
        const { caller, body: run } = call
        const { instance, database, actor } = caller
        const trigger = call.via ?? 'api'
        // A dry run does nothing that could be repeated.
        const claim = run.dryRun ? undefined : await claims.claimOf(call)
        const fill = async (sql: Sql, kept: object) => refilled(sql, caller, (kept as { cycle: string }).cycle)
        try {
          const ran = await cycles
            .run({ instance, database, trigger, requestedBy: actor, source: sourceOf(call), run, claim })
            .catch((error) => {
              throw claim && isClaimed(error) ? inProgress() : error
            })
          if (ran === 'answers') throw tooManyKept(instance)
          if (ran !== 'known') return ran
        } catch (refusal) {
          // A repeat of what was done before there was no room any more is still answered.
          const stored = claim && isRefusal(refusal) ? await settledAnswer(pool, claim) : undefined
          if (!claim || !stored) throw refusal
          return claims.replay(pool, call, claim, stored, { fill })
        }
        const known = claim as Claim
        return claims.replay(pool, call, known, await findAnswer(pool, known.scope), { fill })
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/cycles',
        access: access.capability('cycles:read'),
        summary: 'List cycles, newest first.',
        details: 'Each that is shown was verified; damaged ones are named in `corruption`.',
        query: cycleListQuery,
        answers: { 200: cycleList },
        errors: ['DATA_DAMAGED'],
      },
      async ({ caller, query }) => {
        const place = placeOf(caller)
        const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : seqOf('c', query.cursor)
        const [since, until] = [query.since, query.until].map((time) => (time === undefined ? null : new Date(time)))
        const page = await shares.inTurn(caller.instance.id, () =>
          listCycles(pool, place, { below, limit: query.limit, since: since ?? null, until: until ?? null }),
        )
        const judged = judgePage(page)
        await remember(page.head, judged.found)
        return {
          cycles: judged.shown.map(cycleOf),
          total: page.head.total,
          corruption: corruptionOf(page.head, judged),
          nextCursor: page.first > page.lower ? cursorOf('c', page.first) : null,
        }

        /** The next list and the statistics say so too, whatever page they are of. */
        async function remember(head: CycleHead, found: { seq: number; ref: string | null; reason: string }[]) {
          const isNew = found.some(({ seq }) => !head.damaged?.some((one) => one.seq === seq))
          // Where it cannot be written down it is still told here.
          if (isNew) await quarantine(pool, place, found).catch(() => {})
        }
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/cycles/{id}',
        access: access.capability('cycles:read'),
        summary: 'Read a cycle.',
        details: 'By its id, or by its number: `seq`.',
        params: idPath,
        answers: { 200: cycle },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { id } }) => cycleOf(await requireCycle(caller, id)),
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/cycles/{id}/decisions',
        access: access.capability('cycles:read'),
        summary: 'List what a cycle decided, with the reasons.',
        details: 'Of a cycle by its id, or by its number: `seq`.',
        params: idPath,
        query: cycleDecisionsQuery,
        answers: { 200: cycleDecisions },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller, params: { id }, query }) => {
        const after = query.cursor === undefined ? -1 : seqOf('c', query.cursor)
        const row = await requireCycle(caller, id)
        const keptUntil = row.startedAt.getTime() + (caller.instance.limits.history_days ?? 30) * DAY_MS
        const body = await findDecisions(pool, placeOf(caller), row).catch((error) => {
          throw isUnreadable(error) ? cycleDamaged(row.id, error) : error
        })
        if (body === 'over') throw noCycle()
        if (body === undefined) throw cycleDamaged(row.id)
        const all = JSON.parse(body) as Decision[]
        const page = all.filter(({ seq }) => seq > after).slice(0, query.limit)
        const last = page.at(-1)
        return {
          decisions: page.map((decision) => decisionOf(decision, keptUntil)),
          nextCursor: last && last !== all.at(-1) ? cursorOf('c', last.seq) : null,
        }
      },
    ),

    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/cognitive/stats',
        access: access.capability('cycles:read'),
        summary: 'Read how many cycles there were, and how long they took.',
        answers: { 200: cycleStatistics },
      },
      async ({ caller }) => {
        const head = await readHead(pool, placeOf(caller))
        return {
          totalCycles: head.total,
          completedCycles: head.total,
          failedCycles: 0 as const,
          averageDurationMs: averageDurationMs(head.totalMs, head.total),
          lastCycleAt: head.lastAt?.toISOString() ?? '',
          corruption: corruptionOf(head),
          attempts: attemptsOf(head),
        }
      },
    ),
  ]

  async function requireCycle(caller: Caller, id: string) {
    const place = placeOf(caller)
    const isNumber = /^[1-9]\d{0,14}$/.test(id)
    if (!isNumber && !isId('cyc', id)) throw noCycle()
    const found = await (isNumber ? findNumbered(place, Number(id)) : findCycle(pool, place, id)).catch((error) => {
      throw isUnreadable(error) ? cycleDamaged(id, error) : error
    })
    if (!found) throw noCycle()
    if (found === 'damaged') throw cycleDamaged(id)
    return found
  }

  /** As the page of the list that ends with it. */
  async function findNumbered(place: ReturnType<typeof placeOf>, seq: number) {
    const page = await listCycles(pool, place, { below: seq + 1, limit: 1, since: null, until: null })
    if (page.upper !== seq || page.upper < page.lower) return undefined
    return judgePage(page).shown[0] ?? 'damaged'
  }

  /** What a repeat is answered with: the cycle as it is stored now. */
  async function refilled(sql: Sql, caller: Caller, id: string): Promise<Cycle | { id: string; redacted: true }> {
    const found = await findCycle(sql, placeOf(caller), id)
    return found && found !== 'damaged' ? cycleOf(found) : { id, redacted: true }
  }
}

export function placeOf({ instance, database }: Pick<Caller, 'instance' | 'database'>) {
  return { instanceId: instance.id, database }
}

/** Nothing was done, and why is known. */
function isRefusal(error: unknown): boolean {
  return error instanceof ApiError && error.code !== 'IDEMPOTENCY_IN_PROGRESS'
}

/** Who observed, by the credential and nothing else. A chain with children has a slash in its holder. */
function sourceOf({
  caller,
  requestId,
}: Pick<Call<Caller, unknown, unknown, unknown>, 'caller' | 'requestId'>): Source {
  const trust = caller.holder.includes('/') ? 'delegated' : 'holder'
  return { type: 'api', ref: requestId, actor: caller.actor, trust }
}
