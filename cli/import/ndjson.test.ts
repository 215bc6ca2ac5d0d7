import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDraft } from './kind.ts'
import { NDJSON } from './ndjson.ts'

// Mutant: without the look at `content`: the first line ended the whole import as a fault of the command line.
test('ndjson: a line whose content is no text is told, and the others are read', () => {
  const { read } = NDJSON.start()
  const told = [5, '', null, { a: 1 }, 'text'].flatMap((content) => read({ path: [], value: { content } }) ?? [])
  assert.deepEqual(
    told.map((one) => (isDraft(one) ? one.record.content : one.why)),
    [...Array(4).fill('its content is no text, or empty'), 'text'],
  )
})
