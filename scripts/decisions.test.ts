import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decisionIndex } from './decisions.ts'

const record = (third: string) => `# Cells pull\n\n${third}\n\n**Situation.** It is so.\n`

test('a record stands in one line under its subject', () => {
  const { page, problems } = decisionIndex(
    new Map([['docs/decisions/2026-11-15-a.md', record('2026-11-15 · storage')]]),
  )
  assert.match(page, /## Storage\n\n- 2026-11-15 \[Cells pull\]\(2026-11-15-a\.md\)\n/)
  assert.deepEqual(problems, [])
})

test('a record without a subject, or with an unknown one, is a problem', () => {
  for (const third of ['2026-11-15', '2026-11-15 · weather', 'storage']) {
    const { problems } = decisionIndex(new Map([['docs/decisions/a.md', record(third)]]))
    assert.match(problems.join(), /^docs\/decisions\/a\.md: its third line is not '<date> · <subject>'/)
  }
})
