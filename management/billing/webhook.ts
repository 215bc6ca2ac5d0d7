// What a delivery holds, once it is authentic. Whatever is wrong with it is told in the specification's words, with
// each issue.

import { ApiError } from '@loci/chassis/api-error.ts'
import { parseJson } from '@loci/chassis/json.ts'
import { type BillingEventBody, billingEvent } from '@loci/contract/billing.ts'

const ISSUES_MAX = 20

export function readEvent(bytes: Buffer): BillingEventBody {
  const result = billingEvent.safeParse(jsonOf(bytes))
  if (result.success) return result.data
  throw invalid(
    result.error.issues.map(({ path, message }) => ({ field: ['body', ...path].join('.'), problem: message })),
  )
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return parseJson(bytes)
  } catch (error) {
    if (error instanceof ApiError) throw invalid([{ field: 'body', problem: error.message }])
    throw error
  }
}

function invalid(issues: { field: string; problem: string }[]): ApiError {
  return new ApiError('VALIDATION_ERROR', 'Invalid billing event', { details: issues.slice(0, ISSUES_MAX) })
}
