// Reads a delivery once it is authentic. A refusal has the words of the specification, with each issue. What the
// webhook ignores may have any name and depth: no payment is lost for a field that nobody reads. The route bounds the
// bytes.

import { ApiError } from '@loci/chassis/api-error.ts'
import { parseOpenJson, requireText } from '@loci/chassis/json.ts'
import { type BillingEventBody, billingEvent } from '@loci/contract/billing.ts'

const ISSUES_MAX = 20

export function readEvent(bytes: Buffer): BillingEventBody {
  const value = told('body', () => parseOpenJson(bytes))
  const result = billingEvent.safeParse(value)
  if (!result.success)
    throw invalid(
      result.error.issues.map(({ path, message }) => ({ field: ['body', ...path].join('.'), problem: message })),
    )
  const { metadata, ...facts } = result.data
  for (const [name, fact] of Object.entries(facts)) told(`body.${name}`, () => requireText(fact ?? ''))
  return metadata === undefined ? facts : { ...facts, metadata: wholeMetadata(value as { metadata: object }) }
}

/** As sent: the schema leaves out a member that is called __proto__. */
function wholeMetadata({ metadata }: { metadata: object }): Record<string, string> {
  for (const [name, value] of Object.entries(metadata)) {
    const field = `body.metadata.${name}`
    if (typeof value !== 'string') throw invalid([{ field, problem: 'must be a string' }])
    told(field, () => requireText(name))
    told(field, () => requireText(value))
  }
  return metadata as Record<string, string>
}

/** What `read` refuses is told as an issue of the field. */
function told<Value>(field: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    if (error instanceof ApiError) throw invalid([{ field, problem: error.message }])
    throw error
  }
}

function invalid(issues: { field: string; problem: string }[]): ApiError {
  return new ApiError('VALIDATION_ERROR', 'Invalid billing event', { details: issues.slice(0, ISSUES_MAX) })
}
