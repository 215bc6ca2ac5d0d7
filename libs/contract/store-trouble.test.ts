import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommitUnknownError, DatabaseUnavailableError } from './outcomes.ts'
import { type StoreTrouble, storeTroubleOf } from './store-trouble.ts'

const thrown = (code: string, more: object = {}) => Object.assign(new Error('text'), { code, ...more })

// Mutants: 'slow' counted with the 57 class; the text of ENOSPC not read; a CHECK constraint taken for a partition; the
// cause of a broken connection not looked at.
test('each trouble of PostgreSQL is told from the others', () => {
  const cases: [unknown, StoreTrouble | undefined][] = [
    [thrown('57014'), 'slow'],
    [thrown('57P01'), 'silent'],
    [thrown('57P03'), 'silent'],
    [thrown('53300'), 'silent'],
    [thrown('53100'), 'full'],
    [thrown('58030', { message: 'could not write: No space left on device' }), 'full'],
    [thrown('58030', { severity: 'PANIC' }), 'silent'],
    [thrown('58030'), undefined],
    [thrown('XX001', { severity: 'FATAL' }), undefined],
    [thrown('28P01'), 'refused'],
    [thrown('28000'), 'refused'],
    [thrown('25006'), 'read_only'],
    [thrown('23514', { table: 'events' }), 'partition'],
    [thrown('23514', { table: 'entries', constraint: 'entries_check' }), undefined],
    [thrown('23505'), undefined],
    [thrown('ECONNREFUSED'), 'silent'],
    [thrown('EPIPE'), 'silent'],
    [thrown('DEPTH_ZERO_SELF_SIGNED_CERT'), 'silent'],
    [new Error('Query read timeout'), 'silent'],
    [new DatabaseUnavailableError('it broke'), 'silent'],
    [new DatabaseUnavailableError('it broke', { cause: thrown('53100', { severity: 'PANIC' }) }), 'full'],
    [new CommitUnknownError('it broke', { cause: thrown('53100') }), undefined],
    [new Error('a bug'), undefined],
    [undefined, undefined],
  ]
  for (const [error, expected] of cases)
    assert.equal(storeTroubleOf(error), expected, String((error as Error)?.message))
})
