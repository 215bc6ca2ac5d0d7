import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LociError } from '@loci/sdk/error.ts'
import { againMs, everyMs } from './cache.ts'

const asked = (error: Error | null) => ({ state: { error } })
const failed = (code: 'NETWORK_FAILURE' | 'RATE_LIMITED' | 'FORBIDDEN', retryAfterMs?: number) =>
  asked(new LociError(code, 'x', { status: code === 'NETWORK_FAILURE' ? 0 : 429, retryAfterMs }))

// Mutants: everyMs() without againMs(); the interval of the query before that of the trouble.
test('what could not be read is asked for again within seconds, however seldom it is asked otherwise', () => {
  assert.equal(everyMs(300_000)(asked(null)), 300_000)
  assert.equal(everyMs(300_000)(failed('NETWORK_FAILURE')), 5_000)
  assert.equal(everyMs(300_000)(failed('RATE_LIMITED', 41_000)), 41_000)
})

// Mutant: againMs() of every error.
test('a refusal that asking again does not mend is not asked for sooner', () => {
  assert.equal(againMs(failed('FORBIDDEN')), undefined)
  assert.equal(everyMs(60_000)(failed('FORBIDDEN')), 60_000)
})
