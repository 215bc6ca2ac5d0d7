import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readBlocks } from './worked-feature.ts'

// A new feature whose name comes after `notes` moves the place; `npm run test:system -- contributing` would find it an
// hour later.
test('an import of the worked feature goes where the order of imports has it', () => {
  const imports = readBlocks().filter(({ before, code }) => before && code.startsWith('import '))
  assert.ok(imports.length > 0)
  for (const { file, before, code } of imports) {
    const lines = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').split('\n')
    const at = lines.findIndex((line) => line.includes(before as string))
    const [above, own, below] = [lines[at - 1], code, lines[at]].map(
      (line) => /from '(.*)'/.exec(line ?? '')?.[1] ?? '',
    )
    assert.ok(`${above}` < `${own}` && `${own}` < `${below}`, `${file}: ${above}, ${own}, ${below}`)
  }
})
