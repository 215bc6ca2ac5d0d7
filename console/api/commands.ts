// What an owner does with a service. Each is repeatable by its key.

import type { Api } from './api.ts'

export type Verb = 'retry' | 'resume' | 'suspend' | 'delete'

export async function commandService({ management }: Api, id: string, verb: Verb, idempotencyKey: string) {
  const call = { path: { id }, idempotencyKey }
  if (verb === 'delete') return management.call('DELETE /api/v1/services/{id}', call)
  if (verb === 'resume') return management.call('POST /api/v1/services/{id}/resume', call)
  if (verb === 'suspend') return management.call('POST /api/v1/services/{id}/suspend', call)
  return management.call('POST /api/v1/services/{id}/retry', call)
}
