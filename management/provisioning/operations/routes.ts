import { type Route, route } from '@loci/chassis/route.ts'
import { operationQuery, serviceOperation } from '@loci/contract/services.ts'
import { idPath } from '@loci/contract/wire.ts'
import type { CallerAccess } from '../../access/caller.ts'
import type { OperationEnds } from './end.ts'
import { operationJson } from './json.ts'

interface OperationOptions {
  caller: CallerAccess
  ends: OperationEnds
}

export function operationRoutes({ caller, ends }: OperationOptions): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/api/v1/operations/{id}',
        access: caller.scope('services:read', 'read'),
        tag: 'operations',
        deadline: 'longPoll',
        summary: 'Read an operation, which tells how far a command on a service has come.',
        details: 'With ?wait= the answer comes when it is over, or when the time is.',
        params: idPath,
        query: operationQuery,
        answers: { 200: serviceOperation },
        errors: ['NOT_FOUND'],
        failureMessage: 'Failed to read operation',
      },
      async ({ caller, params, query, signal, yieldSlot }) =>
        operationJson(await ends.wait(caller, params.id, query.wait * 1_000, signal, yieldSlot)),
    ),
  ]
}
