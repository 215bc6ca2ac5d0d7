import type { Lifecycle } from '@loci/chassis/lifecycle.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Route, route } from '@loci/chassis/route.ts'
import { managementLifecycleStatus } from '@loci/contract/health.ts'

export function lifecycleRoutes({ lifecycle, inFlight }: { lifecycle: Lifecycle; inFlight(): number }): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/health/lifecycle',
        access: open,
        tag: 'health',
        deadline: 'probe',
        summary: 'Read the state of the process and its past transitions.',
        answers: { 200: managementLifecycleStatus },
      },
      () => {
        const { state, since, acceptingRequests, reasons, transitions, drain } = lifecycle.status(inFlight())
        return {
          state,
          since,
          accepting_requests: acceptingRequests,
          reasons,
          transitions,
          drain: { deadline: drain.deadline, in_flight: drain.inFlight },
        }
      },
    ),
  ]
}
