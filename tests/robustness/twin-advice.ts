// Requests of twins about advice: what one told shows in no rank and no policy of another, whatever the request says.

import type { PlainRequest } from './plain-client.ts'
import type { Random } from './seeded.ts'
import type { Credential, Twin, TwinDatabase } from './twins.ts'

type Base = PlainRequest & { program: 'daemon' }

interface Places {
  ownDatabase(holder: Twin): TwinDatabase
  anyDatabase(self: Twin, other: Twin): Record<string, string>
}

export function adviceRequests(random: Random, { ownDatabase, anyDatabase }: Places) {
  return { advise, tell }

  /** A rank shows what was told in the database of the credential, whatever the request says. */
  function advise(_self: Twin, other: Twin, holder: Twin): Base {
    const [{ keyMark }] = holder.databases as [TwinDatabase]
    const request = {
      ...{ task_class: 'shared', task_intent: 'shared', source_event_id: keyMark, run_id: 'r', scope: null },
      ...{ candidate_tools: ['shared'], policy_source_ref: 'loci://policy/shared', namespace: other.tenant.serviceId },
    }
    return { program: 'daemon', method: 'POST', path: '/v1/advice/tools:rank', body: JSON.stringify(request) }
  }

  /** Outcomes in own or shared words and under shared ids: a holder's are its own. Ranks and policies of any. */
  function tell(self: Twin, other: Twin, holder: Twin, credential: Credential | undefined): Base {
    const database = ownDatabase(holder)
    const mark = credential?.canWrite ? database.valueMark : 'nothing'
    const told = {
      ...{ taskClass: 'shared', taskIntent: mark, sourceEventId: `shared-${random.below(20)}`, evidenceRefs: [mark] },
      tools: [{ toolId: 'shared', outcome: 'success' }],
    }
    const asked = { taskClass: 'shared', taskIntent: 'shared', sourceEventId: 'e', candidateTools: ['shared'] }
    const headers = { 'x-loci-database': database.name }
    const several = [told, { ...told, sourceEventId: undefined }]
    const path = '/v1/advice/outcomes'
    const anywhere = anyDatabase(self, other)
    return random.pick<Base>([
      { program: 'daemon', method: 'POST', path, headers, body: JSON.stringify(told) },
      { program: 'daemon', method: 'POST', path, headers, body: JSON.stringify(several) },
      {
        ...{ program: 'daemon', method: 'POST', path: '/v1/advice/rank', headers: anywhere },
        body: JSON.stringify(asked),
      },
      { program: 'daemon', method: 'GET', path: '/v1/advice/policies', headers: anywhere },
    ])
  }
}
