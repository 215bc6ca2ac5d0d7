// What a value must be, in the words of `details` of a VALIDATION_ERROR. Words that a schema brings itself win over
// these; what is not told here keeps zod's own words.

import { z } from 'zod'

type Issue = z.core.$ZodRawIssue

// For the whole process, not for one call: the SDK of MCP parses what its tools are given, and those callers read the
// same words.
z.config({ customError: problemOf })

function problemOf(issue: Issue): string | undefined {
  if (issue.code === 'invalid_union') return ofUnion(issue)
  // What is missing is said so, whatever its schema would say of `undefined`.
  if (issue.code === 'invalid_value')
    return issue.input === undefined ? `is required: ${oneOf(issue.values)}` : `must be ${oneOf(issue.values)}`
  if (issue.code === 'invalid_type')
    return issue.input === undefined ? 'is required' : `must be ${KINDS[issue.expected] ?? issue.expected}`
  if (issue.code === 'too_small') return bound('at least', issue.minimum, issue.inclusive, issue.origin)
  if (issue.code === 'too_big') return bound('at most', issue.maximum, issue.inclusive, issue.origin)
  if (issue.code === 'invalid_format') return FORMATS[issue.format]?.(issue.pattern ?? '')
  return undefined
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'an array',
}

const FORMATS: Record<string, (pattern: string) => string> = {
  datetime: () => 'must be a date and time with a time zone, such as 2026-01-31T08:00:00Z',
  regex: (pattern) => `must match ${pattern}`,
}

const COUNTED: Record<string, [one: string, many: string]> = {
  string: ['character', 'characters'],
  array: ['item', 'items'],
}

function bound(
  side: 'at least' | 'at most',
  limit: number | bigint,
  isIncluded = true,
  origin = '',
): string | undefined {
  const counted = COUNTED[origin]
  if (counted) return `must have ${side} ${limit} ${counted[Number(limit) === 1 ? 0 : 1]}`
  if (origin !== 'number' && origin !== 'int') return undefined
  if (isIncluded) return `must be ${side} ${limit}`
  return `must be ${side === 'at least' ? 'more' : 'less'} than ${limit}`
}

/** Every form that would do, with the first thing that the value lacks for it: which one was meant nobody knows. */
function ofUnion({ input, errors, discriminator, options }: Issue & { code: 'invalid_union' }): string | undefined {
  if (typeof discriminator === 'string') {
    const isGiven = (input as Record<string, unknown> | undefined)?.[discriminator] !== undefined
    return `${isGiven ? 'must be' : 'is required:'} ${oneOf(options as unknown[])}`
  }
  if (input === undefined) return 'is required'
  const forms = (errors as z.core.$ZodIssue[][]).flatMap(([first]) => (first ? [formOf(first)] : []))
  return forms.length > 0 ? [...new Set(forms)].join(', or ') : undefined
}

function formOf({ path, message }: z.core.$ZodIssue): string {
  return path.length > 0 ? `${path.join('.')} ${message}` : message
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map((value) => JSON.stringify(value)).join(', ')
  return values.length === 1 ? shown : `one of ${shown}`
}
