// Who may call what: the reviewed table of every route of the daemon. matrix.test.ts holds the running router against
// it, so a new route, a changed access class or a new kind of credential does not pass before someone has decided about
// it here. How a credential of each kind is made: credentials.ts.

import type { Expectation, Matrix, MatrixRow } from '@loci/chassis/testing/matrix.ts'
import { BY_CLASS, KINDS, type Kind } from './matrix-classes.ts'

export type { Kind } from './matrix-classes.ts'

type Row = MatrixRow<Kind>

const open: Row = { class: 'open' }
const admin: Row = { class: 'admin' }
/** Does its work without changing anything. */
const dryRun: Row = { class: 'admin', body: { services: ['mcp'], dry_run: true } }

/** Operations on the whole instance: no keyspace is needed, and only covered ones are shown. */
const systemRead: Row = {
  class: 'capability',
  operation: 'system:read',
  expected: {
    'other database': 'admitted',
    'service type kv': 'admitted',
    'all keyspaces but the last domain': 'admitted',
  },
}

/** Every instance of the matrix has an entry of this name, each with a canary of its own. */
export const KEY = 'matrix'
const kvRead: Row = {
  class: 'capability',
  operation: 'kv:read',
  params: { key: KEY },
  expected: { 'service type kv': 'admitted' },
}
const kvWrite = {
  class: 'capability',
  operation: 'kv:write',
  expected: { 'service type kv': 'admitted', 'suspended instance': '403 FORBIDDEN' },
} as const
const scratch: Row = { ...kvWrite, params: { key: 'matrix-scratch' }, body: { value: 'scratch' } }
const batch: Row = { ...kvWrite, body: { operations: [{ op: 'put', key: 'matrix-scratch', value: 'scratch' }] } }

/** Whoever is admitted finds nothing to delete. */
const missing: Row = {
  class: 'capability',
  operation: 'kv:delete',
  params: { key: 'matrix-missing' },
  expected: {
    'exact op and database': 'admitted or 404',
    'other instance of the tenant': 'admitted or 404',
    'other tenant': 'admitted or 404',
    'other organization': 'admitted or 404',
    'suspended instance': 'admitted or 404',
    'service type kv': 'admitted or 404',
    'every op but the second one': 'admitted or 404',
    'sealed narrower child': 'admitted or 404',
    'foreign body namespace': 'admitted or 404',
  },
}

/** Every instance of the matrix has a slot of the name KEY too. */
const wmRead: Row = { class: 'capability', operation: 'wm:read', params: { key: KEY } }
const wmWrite = {
  class: 'capability',
  operation: 'wm:write',
  expected: { 'suspended instance': '403 FORBIDDEN' },
} as const
const wmScratch: Row = { ...wmWrite, params: { key: 'matrix-scratch' }, body: { value: 'scratch' } }
/** Of PATCH and restore: whoever is admitted finds nothing, and reading is needed too. */
const wmSecond = {
  class: 'capability',
  operation: 'wm:write',
  secondOperation: 'wm:read',
  expected: {
    'exact op and database': 'admitted or 404',
    'other instance of the tenant': 'admitted or 404',
    'other tenant': 'admitted or 404',
    'other organization': 'admitted or 404',
    'suspended instance': '403 FORBIDDEN',
    'every op but the second one': '403 OPERATION_NOT_ALLOWED',
    'sealed narrower child': 'admitted or 404',
    'foreign body namespace': 'admitted or 404',
  },
} as const
const wmMissing: Row = {
  class: 'capability',
  operation: 'wm:delete',
  params: { key: 'matrix-missing' },
  expected: {
    'exact op and database': 'admitted or 404',
    'other instance of the tenant': 'admitted or 404',
    'other tenant': 'admitted or 404',
    'other organization': 'admitted or 404',
    'suspended instance': 'admitted or 404',
    'every op but the second one': 'admitted or 404',
    'sealed narrower child': 'admitted or 404',
    'foreign body namespace': 'admitted or 404',
  },
}
const wmOperator = {
  class: 'operator',
  operation: 'operator',
  expected: { 'service type kv': '403 FORBIDDEN' },
} as const

/** Whoever holds a capability, whatever it allows: each tool asks for its own. */
const HELD: Partial<Record<Kind, Expectation>> = {
  'every op but this one': 'admitted',
  'other database': 'admitted',
  'service type kv': 'admitted',
  'operator root': 'admitted',
  'capability in Authorization': 'admitted',
  'all keyspaces but the last domain': 'admitted',
}
const ADMITTED = Object.entries(BY_CLASS.capability ?? {}).flatMap(([kind, one]) => (one === 'admitted' ? [kind] : []))

const memoryRead: Row = { class: 'capability', operation: 'memory:read' }
const memoryWrite = {
  class: 'capability',
  operation: 'memory:write',
  expected: { 'suspended instance': '403 FORBIDDEN' },
} as const
/** Whoever is admitted finds no such record. */
const memoryMissing: Pick<Row, 'params' | 'expected'> = {
  params: { id: 'mem_00000000000000000000000000' },
  expected: wmMissing.expected ?? {},
}

const cyclesRead: Row = { class: 'capability', operation: 'cycles:read' }
/** Whoever is admitted finds no such cycle. */
const cycleMissing: Row = {
  ...cyclesRead,
  params: { id: 'cyc_00000000000000000000000000' },
  expected: wmMissing.expected ?? {},
}

/** A configuration takes any object, and so does the envelope of a partner. */
const TAKES_ANY_NAME = ['PUT /v1/working-memory/config', 'POST /v1/advice/tools:rank']

export const MATRIX: Matrix<Kind> & { expected: Record<string, Record<Kind, Expectation>> } = {
  kinds: KINDS,

  rows: withRefusedNames({
    'GET /health/live': open,
    'GET /health/ready': open,
    'GET /health/startup': open,
    'GET /v1/health/live': open,
    'GET /v1/health/ready': open,
    'GET /v1/health/startup': open,
    'GET /v1/health/all': open,
    'GET /v1/lifecycle/status': open,
    'GET /metrics': open,
    'GET /openapi.json': open,
    // Without management there is nobody to ask.
    'GET /.well-known/oauth-protected-resource': { class: 'open', expected: { none: '404 NOT_FOUND' } },
    'GET /.well-known/oauth-protected-resource/mcp': { class: 'open', expected: { none: '404 NOT_FOUND' } },
    // A redirect to /docs: nothing to be admitted to.
    'GET /docs': open,
    'GET /v1/system/info': systemRead,
    'GET /v1/conductor/endpoints': systemRead,
    'GET /v1/kv/health': systemRead,
    'GET /v1/kv/consistency': systemRead,
    'GET /v1/kv/entries': kvRead,
    'GET /v1/kv/entries/{key}': kvRead,
    'PUT /v1/kv/entries/{key}': scratch,
    'POST /v1/kv/entries/batch': batch,
    'DELETE /v1/kv/entries/{key}': missing,
    'GET /v1/working-memory/slots': wmRead,
    'GET /v1/working-memory/stats': wmRead,
    'GET /v1/working-memory/evictions': wmRead,
    'GET /v1/working-memory/slots/{key}': wmRead,
    'GET /v1/working-memory/slots/{key}/history': wmRead,
    'PUT /v1/working-memory/slots/{key}': wmScratch,
    'PATCH /v1/working-memory/slots/{key}': {
      ...wmSecond,
      params: { key: 'matrix-missing' },
      body: { value: 'scratch' },
    },
    'DELETE /v1/working-memory/slots/{key}': wmMissing,
    'POST /v1/working-memory/slots/batch': {
      ...wmWrite,
      body: { operations: [{ op: 'put', key: 'matrix-scratch', value: 'scratch' }] },
    },
    'POST /v1/working-memory/slots/clear?dryRun=true': { class: 'capability', operation: 'wm:delete' },
    'POST /v1/working-memory/slots/restore': { ...wmSecond, body: { key: 'matrix-missing', version: 1 } },
    'GET /v1/working-memory/config': wmOperator,
    'GET /v1/working-memory/settings': wmRead,
    'PUT /v1/working-memory/config': {
      ...wmOperator,
      body: {},
      expected: { ...wmOperator.expected, 'suspended instance': '403 FORBIDDEN' },
    },
    'POST /v1/memory/records': { ...memoryWrite, body: { content: 'scratch', sourceEventId: 'matrix-scratch' } },
    'POST /v1/memory/records/batch': {
      ...memoryWrite,
      body: { records: [{ content: 'scratch', sourceEventId: 'matrix-scratch' }] },
    },
    'POST /v1/memory/recall': { ...memoryRead, body: { query: 'scratch' } },
    'POST /v1/memory/records/read': { ...memoryRead, body: { ids: ['mem_00000000000000000000000000'] } },
    'DELETE /v1/memory/records/{id}': { class: 'capability', operation: 'memory:delete', ...memoryMissing },
    'GET /v1/memory/records': memoryRead,
    'GET /v1/memory/records/{id}': { ...memoryRead, ...memoryMissing },
    'GET /v1/memory/records/{id}/trace': { ...memoryRead, ...memoryMissing },
    'POST /v1/partner/projections': {
      class: 'partner',
      operation: 'projections',
      body: { projection_class: 'event', source_event_id: 'matrix-scratch' },
      expected: { 'partner key without the class': '403 OPERATION_NOT_ALLOWED' },
    },
    'POST /v1/advice/tools:rank': {
      class: 'partner',
      operation: 'advice',
      body: { task_class: 'a', task_intent: 'b', source_event_id: 'c', run_id: 'd', scope: null },
    },
    'POST /v1/advice/rank': {
      class: 'capability',
      operation: 'advice:read',
      body: { taskClass: 'a', taskIntent: 'b', sourceEventId: 'c' },
    },
    'POST /v1/advice/outcomes': {
      class: 'capability',
      operation: 'advice:write',
      body: { taskClass: 'a', sourceEventId: 'matrix-scratch', tools: [{ toolId: 'b', outcome: 'success' }] },
      expected: { 'suspended instance': '403 FORBIDDEN' },
    },
    // Holders of advice:read go by them: every right but the operator's suffices, of the holder itself.
    'GET /v1/advice/policies': {
      ...wmOperator,
      expected: { ...wmOperator.expected, 'every op but this one': 'admitted' },
    },
    'GET /v1/advice/policies/{name}': {
      ...wmOperator,
      params: { name: 'none' },
      expected: {
        ...wmMissing.expected,
        ...{ 'other database': 'admitted or 404', 'operator root': 'admitted or 404' },
        ...{ 'every op but this one': 'admitted or 404', 'sealed narrower child': '403 OPERATOR_REQUIRED' },
        ...{ 'all keyspaces but the last domain': 'admitted or 404' },
        ...wmOperator.expected,
      },
    },
    'PUT /v1/advice/policies/{name}': {
      ...wmOperator,
      params: { name: 'scratch' },
      body: { rules: [] },
      expected: { ...wmOperator.expected, 'suspended instance': '403 FORBIDDEN' },
    },
    'POST /v1/cognitive/cycles': {
      class: 'capability',
      operation: 'cycles:run',
      body: {},
      expected: { 'suspended instance': '403 FORBIDDEN' },
    },
    'GET /v1/cognitive/cycles': cyclesRead,
    'GET /v1/cognitive/cycles/{id}': cycleMissing,
    'GET /v1/cognitive/cycles/{id}/decisions': cycleMissing,
    'GET /v1/cognitive/stats': cyclesRead,
    'GET /v1/cognitive/timeline': cyclesRead,
    'GET /v1/cognitive/health': cyclesRead,
    'GET /v1/cognitive/config': wmOperator,
    'GET /v1/cognitive/settings': cyclesRead,
    'PUT /v1/cognitive/config': {
      ...wmOperator,
      body: {},
      expected: { ...wmOperator.expected, 'suspended instance': '403 FORBIDDEN' },
    },
    'GET /v1/events': {
      class: 'capability',
      operation: 'events:read',
      // Of the whole instance: the keyspaces decide what is shown, not whether.
      expected: {
        'other database': 'admitted',
        'service type kv': 'admitted',
        'all keyspaces but the last domain': 'admitted',
      },
    },
    'POST /mcp': { class: 'capability', body: { jsonrpc: '2.0', id: 1, method: 'ping' }, expected: HELD },
    // There is no stream to be had: whoever is admitted is told so.
    'GET /mcp': {
      class: 'capability',
      expected: Object.fromEntries(
        [...Object.keys(HELD), ...ADMITTED].map((kind) => [kind, '405 METHOD_NOT_ALLOWED']),
      ) as Partial<Record<Kind, Expectation>>,
    },
    'GET /v1/audit': { class: 'operator', operation: 'operator' },
    'GET /v1/databases': { class: 'operator', operation: 'operator' },
    'DELETE /v1/databases/{name}': {
      class: 'operator',
      operation: 'operator',
      params: { name: 'none' },
      // Whoever is admitted finds no such database.
      expected: Object.fromEntries(
        Object.entries(BY_CLASS.operator ?? {}).flatMap(([kind, one]) =>
          one === 'admitted' ? [[kind, 'admitted or 404']] : [],
        ),
      ) as Partial<Record<Kind, Expectation>>,
    },
    'GET /admin/services/status': admin,
    'POST /admin/services/enable': dryRun,
    'POST /admin/services/disable': dryRun,
    'POST /admin/revocations': { class: 'admin', body: { jti: 'cap_of_nobody' } },
    'GET /admin/audit': admin,
  }),

  expected: BY_CLASS,
}

/** Where an agent calls, a name that nobody reads is refused, and with it a claim to another's namespace. */
function withRefusedNames(rows: Record<string, Row>): Record<string, Row> {
  const isRefused = (line: string) =>
    (/ \/v1\/(kv|working-memory|memory|advice)\//.test(line) && !TAKES_ANY_NAME.includes(line)) ||
    ['POST /v1/cognitive/cycles', 'DELETE /v1/databases/{name}'].includes(line)
  return Object.fromEntries(
    Object.entries(rows).map(([line, row]) => [
      line,
      isRefused(line)
        ? { ...row, expected: { ...row.expected, 'foreign body namespace': '400 VALIDATION_ERROR' } }
        : row,
    ]),
  )
}
