import { appendAudit } from '@loci/acts/audit/store.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { type Call, type Route, route } from '@loci/chassis/route.ts'
import { createTurn } from '@loci/chassis/turn.ts'
import {
  type AdviceRequest,
  adviceRequest,
  POLICY_DEFAULT_REF,
  type PolicyRule,
  policy,
  policyList,
  policyNameOf,
  policyParams,
  policyWrite,
  toolRankRequest,
  toolRankResult,
} from '@loci/contract/advice.ts'
import { noteScanned } from '@loci/meter/meter.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import type { PoolShares } from '@loci/postgres/shares.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import type { PartnerAccess } from '../access/partner.ts'
import { entryRefusal, type Quota } from '../databases/quota.ts'
import type { Due } from '../databases/store.ts'
import { versionOf } from '../databases/versions.ts'
import { answerOf, boundedOutcomes, candidatesOf, type Evidence, judgedOf, requestOf } from './advice.ts'
import { LOOKS_MAX, type Looked, SHOWN_MAX, tailOf } from './evidence.ts'
import { EXPLORE } from './fold/parameters.ts'
import { rank } from './fold/rank.ts'
import { wordsOf } from './fold/words.ts'
import {
  BUDGET_LOOKS_MAX,
  BUDGET_OUTCOMES,
  boundedDenials,
  type Declared,
  denialOf,
  isBudgeted,
  rulesFor,
} from './policies.ts'
import { requireScopeSize, scopeKeyOf } from './scope.ts'
import { type AdviceStates, catalogueOf, type Known } from './states.ts'
import {
  type EvidenceRead,
  findPolicy,
  listPolicies,
  policyDamaged,
  readEvidence,
  readRecent,
  writePolicy,
} from './store.ts'

interface AdviceOptions {
  access: CapabilityAccess & { partner: PartnerAccess }
  pool: Pool
  shares: PoolShares
  quota: Quota
  states: AdviceStates
}

const SHARED = { tag: 'advice', subservice: 'advice', refusesUnknownNames: true }
const REFS_MAX = 1_000
const POLICIES_MAX = 100
const POLICY_BYTES_MAX = 64 * 1024

/** Whom a rank is for: a partner, or the holder of a capability. */
interface Asking {
  instance: { id: string }
  database: string
}
type RankCall = Pick<Call<Asking, unknown, unknown, unknown>, 'caller'>

export function adviceRoutes({ access, pool, shares, quota, states }: AdviceOptions): Route[] {
  return [
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/advice/tools:rank',
        refusesUnknownNames: false,
        ignoresUnknownNames: true,
        access: access.partner('advice'),
        summary: 'Rank tools for a task by their outcomes and a policy, as a partner.',
        body: toolRankRequest,
        answers: { 200: toolRankResult },
        errors: ['DATA_DAMAGED'],
      },
      (call) => advise(call, requestOf(call.body)),
    ),
    route(
      {
        ...SHARED,
        method: 'POST',
        path: '/v1/advice/rank',
        access: access.capability('advice:read'),
        summary: 'Rank tools for a task by their outcomes, with a capability.',
        body: adviceRequest,
        answers: { 200: toolRankResult },
        errors: ['DATA_DAMAGED'],
      },
      (call) => advise(call, call.body),
    ),
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/advice/policies',
        access: access.operatorOrReader('advice:read', 'advice'),
        summary: 'List the policies of the database.',
        details: 'An operator may, and the holder of `advice:read`.',
        answers: { 200: policyList },
      },
      async ({ caller: { instance, database } }) => {
        const found = await listPolicies(pool, { instanceId: instance.id, database })
        return { policies: found.map(({ name, version }) => ({ name, ref: refOf(name), version })), nextCursor: null }
      },
    ),
    route(
      {
        ...SHARED,
        method: 'GET',
        path: '/v1/advice/policies/{name}',
        access: access.operatorOrReader('advice:read', 'advice'),
        summary: 'Read a policy.',
        details: 'An operator may, and the holder of `advice:read`.',
        params: policyParams,
        answers: { 200: policy },
        errors: ['NOT_FOUND', 'DATA_DAMAGED'],
      },
      async ({ caller: { instance, database }, params: { name } }) => {
        const { sent, version, intact } = await findPolicy(pool, { instanceId: instance.id, database }, name)
        if (!intact) throw policyDamaged()
        if (sent === null) throw new ApiError('NOT_FOUND', `There is no policy '${name}' in this database.`)
        return { name, ref: refOf(name), version, rules: rulesOf(sent) }
      },
    ),
    route(
      {
        ...SHARED,
        method: 'PUT',
        path: '/v1/advice/policies/{name}',
        access: access.operator('write', 'advice'),
        conditions: ['if-match'],
        summary: 'Write a policy.',
        details:
          'With If-Match only over that version. `default` holds for every request, also beside the one that it names.',
        params: policyParams,
        body: policyWrite,
        answers: { 200: policy },
        errors: ['VERSION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE'],
      },
      async ({ caller: { instance, database, actor }, params: { name }, body, headers, requestId }) => {
        const sent = JSON.stringify(body)
        if (Buffer.byteLength(sent) > POLICY_BYTES_MAX)
          throw new ApiError('PAYLOAD_TOO_LARGE', `A policy may have at most ${POLICY_BYTES_MAX} bytes as JSON.`)
        for (const { scope } of body.rules) requireScopeSize(scope)
        const ifMatch = versionOf(headers['if-match'])
        const place = { instanceId: instance.id, database, databasesMax: instance.limits.databases }
        await quota.requireRoom(instance, { records: 0, bytes: sent.length }, pool)
        const known = await listPolicies(pool, place)
        if (known.length >= POLICIES_MAX && !known.some((one) => one.name === name))
          throw new ApiError('QUOTA_EXCEEDED', `A database may have at most ${POLICIES_MAX} policies.`)
        const version = await transaction(pool, async (sql) => {
          const written = await writePolicy(sql, place, { name, sent, ifMatch })
          const refused = entryRefusal(written.outcome, instance.limits.databases)
          if (refused) throw refused
          if (written.outcome === 'conflict')
            throw new ApiError('VERSION_CONFLICT', 'The policy has another version than If-Match asked for.', {
              details: { currentVersion: written.version === 0 ? null : written.version },
            })
          const detail = { database, version: written.version, rules: body.rules.length }
          await appendAudit(sql, {
            ...{ actor, requestId, chain: instance.id, action: 'advice.policy', subject: name, detail },
          })
          return written.version
        })
        return { name, ref: refOf(name), version, rules: body.rules }
      },
    ),
  ]

  function advise({ caller }: RankCall, request: AdviceRequest) {
    requireScopeSize(request.scope)
    const place = { instanceId: caller.instance.id, database: caller.database }
    return shares.inTurn(place.instanceId, async () => {
      // Before what is awaited, as what is answered is behind it: a rank of many tools holds the thread in three parts.
      const intent = wordsOf(request.taskIntent)
      const sourceRef = request.policySourceRef ?? POLICY_DEFAULT_REF
      const { known, policy, fallback, ...moment } = await states.read(pool, place, policyNameOf(sourceRef))
      const resolved = policy !== null || sourceRef === POLICY_DEFAULT_REF
      const candidates = candidatesOf(request)
      // The default always holds: whoever asks chooses the reference, and must not choose a laxer policy by it.
      const named =
        policy !== null && sourceRef !== POLICY_DEFAULT_REF ? rulesFor(rulesOf(policy), request, sourceRef) : []
      const held = [...named, ...rulesFor(rulesOf(fallback), request)]
      const { denied, allowed } = isFree(held, request)
        ? { denied: [], allowed: null }
        : await judgePolicy(place, known, held, candidates, request)
      const turn = createTurn()
      // From here to the next await nobody folds on: what is told below is of one state.
      const judged = judge(known, request, intent, candidates, allowed)
      const evidence = await evidenceOf(place, known, request, judged, moment)
      await turn()
      return answerOf({ request, judged, denied, evidence, policy: { sourceRef, resolved } })
    })
  }

  /** `allowed`: what was told of since then was not held against the policy, and is not advised yet. */
  async function judgePolicy(
    place: Due,
    known: Known,
    held: ReturnType<typeof rulesFor>,
    candidates: Declared[] | null,
    request: AdviceRequest,
  ) {
    const asked = candidates ?? known.state.tools.map(({ name: toolId }) => ({ toolId }))
    const recent = await recentOf(place, known, held, asked, request)
    const denials = await inTurns(asked, (tool) => denialOf(held, tool, request.constraints, recent))
    const allowed = new Set(asked.flatMap(({ toolId }, at) => (denials[at] ? [] : [toolId])))
    return { denied: boundedDenials(denials.flatMap((denial) => denial ?? [])), allowed }
  }

  /** What the state has kept of the tools' outcomes, and the rest as it is read. Until it is, nothing is awaited. */
  async function evidenceOf(
    place: Due,
    known: Known,
    { taskClass, scope }: AdviceRequest,
    judged: ReturnType<typeof judgedOf>,
    { now, head }: { now: number; head: string },
  ): Promise<Evidence> {
    const task = { taskClass, scope: scopeKeyOf(scope) }
    const tools = judged.filter(({ coldStart }) => !coldStart).map(({ toolId }) => toolId)
    const { seq, through, stored, evidence } = known
    const kept = new Map(tools.map((tool) => [tool, evidence.find(task, tool, now)]))
    const missing = tools.filter((tool) => kept.get(tool) === undefined)
    const { tail, looked } = tailOf(known.ledger, { ...task, tools: missing, limit: SHOWN_MAX, looksMax: LOOKS_MAX })
    const looks = looked.map((count) => LOOKS_MAX - count)
    const keptRefs = evidence.findRefs(task, head, now)
    const hasRefs = keptRefs !== undefined
    const read =
      missing.length === 0 && hasRefs
        ? NOTHING_READ
        : await readEvidence(pool, place, {
            ...{ taskClass, scopeKey: task.scope, scope, tools: missing, limit: SHOWN_MAX, looks, through, tail },
            ...{ stored, hasRefs, refsMax: REFS_MAX },
          })
    const lists = new Map<string, Looked>()
    for (const tool of tools) {
      const more = (looked[missing.indexOf(tool)] ?? 0) + (read.looked.get(tool) ?? 0)
      lists.set(tool, kept.get(tool) ?? { outcomes: read.outcomes.get(tool) ?? [], looked: more })
    }
    // What was folded meanwhile is not in it.
    if (known.seq === seq)
      for (const tool of missing) if (read.looked.has(tool)) evidence.keep(task, tool, lists.get(tool) as Looked)
    if (read.head === head) evidence.keepRefs(task, { ...read, head })
    const { outcomes, isCut } = boundedOutcomes(lists)
    const { refs, isCut: isRefsCut } = keptRefs ?? read
    // Most of what was looked at is of other scopes, and is not in the answer of PostgreSQL.
    noteScanned(read.looked.values().reduce((sum, count) => sum + count, 0) + read.events)
    return { outcomes, refs, isCut: isCut || isRefsCut }
  }

  /** How the tools did of late for which a rule has a budget. */
  async function recentOf(
    place: Due,
    known: Known,
    rules: ReturnType<typeof rulesFor>,
    tools: Declared[],
    { taskClass }: AdviceRequest,
  ) {
    const isFound = await inTurns(tools, (tool) => isBudgeted(rules, tool))
    const budgeted = tools.flatMap(({ toolId }, at) => (isFound[at] ? [toolId] : []))
    const asked = { taskClass, tools: budgeted, limit: BUDGET_OUTCOMES }
    const { through } = known
    const { tail, looked } = tailOf(known.ledger, { ...asked, scope: null, looksMax: BUDGET_LOOKS_MAX })
    const looks = looked.map((count) => BUDGET_LOOKS_MAX - count)
    // Those that were taken back are looked at and passed over.
    noteScanned(budgeted.length * BUDGET_OUTCOMES)
    const rows = budgeted.length === 0 ? [] : await readRecent(pool, place, { ...asked, looks, through, tail })
    const byTool = Map.groupBy(rows, ({ tool }) => tool)
    return (toolId: string) => {
      const outcomes = byTool.get(toolId) ?? []
      return { attempts: outcomes.length, failures: outcomes.filter(({ outcome }) => outcome === 'failure').length }
    }
  }
}

/** Nothing can be denied: no tool is looked at for it. */
function isFree(held: ReturnType<typeof rulesFor>, { constraints = {} }: AdviceRequest): boolean {
  return held.length === 0 && Object.values(constraints).every((constraint) => constraint === undefined)
}

/** For each of the tools, with others served in between where there are many rules. */
async function inTurns<Result>(tools: Declared[], look: (tool: Declared) => Result): Promise<Result[]> {
  const turn = createTurn()
  const results: Result[] = []
  for (const tool of tools) {
    await turn()
    results.push(look(tool))
  }
  return results
}

function judge(
  known: Known,
  request: AdviceRequest,
  intent: ReturnType<typeof wordsOf>,
  candidates: Declared[] | null,
  allowed: ReadonlySet<string> | null,
) {
  const { taskClass, sourceEventId: seed, limit } = request
  const named = candidates?.map(({ toolId: name, description = '' }) => ({ name, description })) ?? null
  const scope = scopeKeyOf(request.scope)
  const ask = { intent, taskClass, scope, seed, explore: EXPLORE, limit }
  const catalogue = catalogueOf(known, named)
  const ranked = rank(known.state, catalogue, ask, allowed ? (name) => allowed.has(name) : undefined)
  return judgedOf(known.state, ranked, request, intent)
}

const NOTHING_READ: EvidenceRead = {
  ...{ outcomes: new Map(), looked: new Map(), refs: [], isCut: false, overAt: null, head: null, bytes: 0, events: 0 },
}

function rulesOf(sent: string | null): PolicyRule[] {
  return sent === null ? [] : (JSON.parse(sent) as { rules: PolicyRule[] }).rules
}

function refOf(name: string): string {
  return POLICY_DEFAULT_REF.replace(/default$/, name)
}
