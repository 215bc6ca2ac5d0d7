// A memory that is not there, or cannot be shown.

import { ApiError } from '@loci/chassis/api-error.ts'

export function noRecord(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such memory.')
}

export function recordDamaged(ref: string, cause?: unknown): ApiError {
  return new ApiError(
    'DATA_DAMAGED',
    'The memory is damaged and is not shown. Delete it and store it again; GET /v1/kv/consistency says more.',
    { details: { ref }, ...(cause === undefined ? {} : { cause }) },
  )
}
