// Routes for what access decides and no route of the daemon asks for yet: a partner credential, several domains, a
// second operation, an operator's write. They answer whom they were handed; the matrix asks them with every kind of
// credential. A probe goes when a feature registers a route of its kind.

import { type Route, route } from '@loci/chassis/route.ts'
import type { Matrix } from '@loci/chassis/testing/matrix.ts'
import { anyObject } from '@loci/contract/wire.ts'
import type { Instance } from '../access/authority.ts'
import type { CapabilityAccess } from '../access/capability-access.ts'
import type { PartnerAccess } from '../access/partner.ts'
import type { Kind } from './matrix.ts'

export function probeRoutes({ capability, operator, partner }: CapabilityAccess & { partner: PartnerAccess }): Route[] {
  const shared = { summary: 's', tag: 't', answers: { 200: anyObject } } as const
  const handed = ({ caller }: { caller: { instance: Instance; database: string } }) => ({
    instance: caller.instance.id,
    database: caller.database,
  })
  return [
    route({ ...shared, method: 'POST', path: '/probe/partner/advice', access: partner('advice') }, handed),
    route({ ...shared, method: 'POST', path: '/probe/cycles', access: capability('cycles:run') }, handed),
    route(
      { ...shared, method: 'PATCH', path: '/probe/slots', access: capability('wm:write', { also: 'wm:read' }) },
      handed,
    ),
    route({ ...shared, method: 'PUT', path: '/probe/config', access: operator('write', 'cognitive') }, handed),
  ]
}

export const PROBE_ROWS: Matrix<Kind>['rows'] = {
  'POST /probe/partner/advice': { class: 'partner', operation: 'advice' },
  'POST /probe/cycles': {
    class: 'capability',
    operation: 'cycles:run',
    expected: { 'suspended instance': '403 FORBIDDEN' },
  },
  'PATCH /probe/slots': {
    class: 'capability',
    operation: 'wm:write',
    secondOperation: 'wm:read',
    expected: { 'suspended instance': '403 FORBIDDEN', 'every op but the second one': '403 OPERATION_NOT_ALLOWED' },
  },
  'PUT /probe/config': {
    class: 'operator',
    operation: 'operator',
    expected: { 'suspended instance': '403 FORBIDDEN', 'service type kv': '403 FORBIDDEN' },
  },
}
