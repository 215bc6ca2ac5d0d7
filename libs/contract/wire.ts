// Pieces that many schemas share.

import { z } from 'zod'
import { ID_TYPES, type IdType, looksLikeId } from './ids.ts'

/** RFC 3339, UTC, milliseconds: the only form of a time in answers. */
export const timestamp = z.iso
  .datetime({ precision: 3 })
  .meta({ format: 'date-time', examples: ['2026-11-15T09:30:00.000Z'] })

/** RFC 3339 with any offset; answered in UTC with milliseconds, so only what has four digits of a year there. */
export const moment = z.iso
  .datetime({ offset: true })
  .refine((text) => isOfFourDigits(new Date(text).getUTCFullYear()), 'must be in the years 1 to 9999 of UTC')
  .meta({ format: 'date-time', examples: ['2026-11-15T09:30:00.000Z'] })

function isOfFourDigits(year: number): boolean {
  return year >= 1 && year <= 9_999
}

export function idOf(type: IdType) {
  return z
    .string()
    .regex(new RegExp(`^${type}_[0-7][0-9a-hjkmnp-tv-z]{25}$`))
    .meta({ description: `Id of a ${ID_TYPES[type]}.` })
}

/**
 * An integer in a query string. Coercion would accept `1e2`, `0x10`, `true` and '', so the digits are checked first.
 */
export function queryInteger({ min, max, fallback }: { min: number; max: number; fallback: number }) {
  return z
    .string()
    .regex(/^[0-9]{1,9}$/, 'must be a whole number of at most nine digits')
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be between ${min} and ${max}`)
    .default(fallback)
    .meta({ queryInteger: { type: 'integer', minimum: min, maximum: max, default: fallback } })
}

/**
 * How many rows of a list to skip. Any number of digits: the specification sets no maximum. No list is longer than the
 * largest safe integer, so a larger number is cut to it and the answer repeats an integer.
 */
export const queryOffset = z
  .string()
  .regex(/^[0-9]+$/, 'must be a whole number')
  .transform((digits) => Math.min(Number(digits), Number.MAX_SAFE_INTEGER))
  .default(0)
  .meta({ queryInteger: { type: 'integer', minimum: 0, default: 0 } })

/** A cursor: the id that the previous page ended with. */
export function pageQuery(type: IdType) {
  return z.object({ cursor: idOf(type).optional(), limit: queryInteger({ min: 1, max: 200, fallback: 50 }) })
}

/** An id in a path. Its form is not checked: a malformed id gets the same answer as an unknown one. */
export const pathId = z.string().max(100)

/** Most paths have one parameter: `/{id}`. */
export const idPath = z.object({ id: pathId })

/** A display name. */
export const displayName = z
  .string()
  .min(1)
  .max(100)
  .refine((name) => name.trim() === name, 'must not begin or end with a blank')
  // Commands take organizations and tenants by name or id, so a name must not look like an id.
  .refine((name) => !looksLikeId(name), 'must not look like an id')

export const slug = z
  .string()
  .regex(/^[a-z0-9-]+$/)
  .min(3)
  .max(63)

export const deleted = z.object({ deleted: z.literal(true) }).meta({ id: 'Deleted' })

/** An object that we store verbatim: any JSON inside. */
export const anyObject = z.record(z.string(), z.unknown())

/** The error body, in the letter case of its service. */
export function errorBody(letterCase: 'camel' | 'snake') {
  const shared = {
    code: z.string().meta({ examples: ['NOT_FOUND'] }),
    message: z.string(),
    status: z.int(),
    retryable: z.boolean(),
    hint: z.string().optional(),
    details: z.unknown().optional(),
  }
  return z.object({
    error:
      letterCase === 'camel'
        ? z.object({ ...shared, requestId: idOf('req'), retryAfterMs: z.int().optional() })
        : z.object({ ...shared, request_id: idOf('req'), retry_after: z.int().optional() }),
  })
}

/** The specification's flat error shape; only the billing webhook has it. */
export const flatErrorBody = z
  .object({
    error: z.string(),
    details: z.array(z.object({ field: z.string(), problem: z.string() })).optional(),
  })
  .meta({ id: 'FlatError' })
