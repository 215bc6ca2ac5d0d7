// How a tool did, told by who used it. An outcome is stored as a projection of the class `tool_outcome`, and its teller
// is the holder: no partner has a name that begins with `holder:`, so nobody repeats or conflicts with what another
// told.

import { REPEAT_ERRORS, type RunAct } from '@loci/acts/idempotency/idempotency.ts'
import { ApiError } from '@loci/chassis/api-error.ts'
import { parseInput } from '@loci/chassis/input.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import {
  OUTCOMES_MAX,
  type OutcomeWrite,
  outcomeBody,
  outcomeReport,
  outcomeResults,
  outcomeWrite,
} from '@loci/contract/advice.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Projection } from '@loci/contract/projections.ts'
import type { Caller, CapabilityAccess } from '../access/capability-access.ts'
import type { Ingest, Told } from './ingest.ts'

interface OutcomeOptions {
  access: CapabilityAccess
  ingest: Ingest
  act: RunAct<Caller>
}

export function outcomeRoutes({ access, ingest, act }: OutcomeOptions): Route[] {
  return [
    route(
      {
        tag: 'advice',
        // Advice needs projections: with those switched off this is off too.
        subservice: 'advice',
        refusesUnknownNames: true,
        method: 'POST',
        path: '/v1/advice/outcomes',
        access: access.capability('advice:write'),
        summary: 'Report the outcomes of tool calls, so that the next ranking learns from them.',
        body: outcomeBody,
        documentedBody: outcomeReport,
        answers: { 200: outcomeResults },
        errors: ['PROJECTION_CONFLICT', 'QUOTA_EXCEEDED', 'INVALID_STATE', 'DATA_DAMAGED', ...REPEAT_ERRORS],
      },
      async (call) => {
        const { body, caller, requestId, headers } = call
        const isArray = Array.isArray(body)
        const projections = isArray
          ? outcomesOf(body).map((one, at) => projectionOf(one, `${requestId}/${at}`))
          : [projectionOf(parseInput(outcomeWrite, body, 'body', true), requestId)]
        const { instance, database, actor } = caller
        const teller = { instance, database, actor, partner: `holder:${caller.rootHolder}` }
        const answerOf = (told: Told[]) => {
          const results = told.map(resultOf)
          return isArray ? results : (results[0] as object)
        }
        // A claim needs statements of its own; without one, outcomes that arrive together share a commit.
        if (headers[HEADER.idempotencyKey] !== undefined)
          return ingest.tellAct(act, call, teller, { projections, isArray, answerOf })
        return answerOf(await ingest.tell(teller, { projections, isArray }))
      },
    ),
  ]
}

function outcomesOf(body: unknown[]): OutcomeWrite[] {
  if (body.length === 0 || body.length > OUTCOMES_MAX)
    throw new ApiError('VALIDATION_ERROR', `An array has 1 to ${OUTCOMES_MAX} outcomes.`)
  return body.map((one, at) => parseInput(outcomeWrite, one, `body.${at}`, true))
}

function projectionOf(
  { taskClass, taskIntent, scope, runId, sourceEventId, occurredAt, evidenceRefs, tools }: OutcomeWrite,
  eventId: string,
): Projection {
  return {
    projection_class: 'tool_outcome',
    source_event_id: sourceEventId ?? eventId,
    task_class: taskClass,
    tools: tools.map(({ toolId, outcome, latencyMs, costUsd, errorCode }) => ({
      ...{ tool_id: toolId, outcome },
      ...(latencyMs === undefined ? {} : { latency_ms: latencyMs }),
      ...(costUsd === undefined ? {} : { cost_usd: costUsd }),
      ...(errorCode === undefined ? {} : { error_code: errorCode }),
    })),
    ...(taskIntent === undefined ? {} : { task_intent: taskIntent }),
    ...(scope === undefined ? {} : { scope }),
    ...(runId === undefined ? {} : { run_id: runId }),
    ...(occurredAt === undefined ? {} : { occurred_at: occurredAt }),
    ...(evidenceRefs === undefined ? {} : { evidence_refs: evidenceRefs }),
  }
}

function resultOf({ id, seq, isDuplicate }: Told): object {
  return { accepted: true, projectionId: id, duplicate: isDuplicate, appliedSeq: seq }
}
