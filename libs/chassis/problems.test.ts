import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import './problems.ts'

const problemsOf = (schema: z.ZodType, value: unknown) =>
  schema.safeParse(value).error?.issues.map(({ message }) => message)

// Mutant: z.config() left out: every line is zod's own, such as "Too small: expected string to have >=1 characters".
test('a value that does not fit is told what it must be, in plain words', () => {
  for (const [schema, value, told] of [
    [z.string(), 5, 'must be a string'],
    [z.int(), 1.5, 'must be a whole number'],
    [z.boolean(), 'yes', 'must be true or false'],
    [z.object({}), [], 'must be an object'],
    [z.array(z.string()), {}, 'must be an array'],
    [z.string().min(1), '', 'must have at least 1 character'],
    [z.string().max(2), 'abc', 'must have at most 2 characters'],
    [z.array(z.int()).max(1), [1, 2], 'must have at most 1 item'],
    [z.int().min(1), 0, 'must be at least 1'],
    [z.number().max(1), 2, 'must be at most 1'],
    [z.number().gt(0), 0, 'must be more than 0'],
    [z.number().lt(1), 1, 'must be less than 1'],
    [z.enum(['deny', 'allow']), 'maybe', 'must be one of "deny", "allow"'],
    [z.literal(true), false, 'must be true'],
    [z.iso.datetime(), 'tomorrow', 'must be a date and time with a time zone, such as 2026-01-31T08:00:00Z'],
    [z.string().regex(/^a$/), 'b', 'must match /^a$/'],
  ] as const)
    assert.deepEqual(problemsOf(schema, value), [told])
})

test('a value that fits none of several forms is told what each of them lacks', () => {
  const restore = z.union([z.object({ undoToken: z.string() }), z.object({ key: z.string(), version: z.int() })])
  assert.deepEqual(problemsOf(restore, {}), ['undoToken is required, or key is required'])
  assert.deepEqual(problemsOf(restore, { key: 'a' }), ['undoToken is required, or version is required'])
  assert.deepEqual(problemsOf(restore, undefined), ['is required'])
  const tool = z.union([z.string(), z.object({ tool_id: z.string() })])
  assert.deepEqual(problemsOf(z.array(tool), [1]), ['must be a string, or must be an object'])
})

test('where one field decides the form, its choices are told', () => {
  const operation = z.discriminatedUnion('op', [
    z.object({ op: z.literal('put') }),
    z.object({ op: z.literal('delete') }),
  ])
  assert.deepEqual(problemsOf(operation, { op: 'putt' }), ['must be one of "put", "delete"'])
  assert.deepEqual(problemsOf(operation, {}), ['is required: one of "put", "delete"'])
})

test('words of the schema itself win', () => {
  assert.deepEqual(problemsOf(z.string().regex(/^a$/, 'must be a single a'), 'b'), ['must be a single a'])
})
