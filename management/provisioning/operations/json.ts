import { type Operation, percentOf } from './operation.ts'

export function operationJson(operation: Operation & { serviceId: string }) {
  return {
    id: operation.id,
    service_id: operation.serviceId,
    kind: operation.kind,
    status: operation.status,
    percent: percentOf(operation),
    steps: operation.steps,
    ...(operation.error ? { error: operation.error } : {}),
    created_at: operation.createdAt.toISOString(),
    updated_at: operation.updatedAt.toISOString(),
  }
}
