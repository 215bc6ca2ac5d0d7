// Every block of code of every document is run by a stage of CI, names things that are there, or has its reason.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { allBlocks, isOfCommands, isRun, REASONS, RUNNERS, reasonOf } from './accounted-blocks.ts'
import { blocksIn } from './blocks.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const blocks = allBlocks()
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

test('every block of every document is run, names what is there, or has its reason', () => {
  const left = blocks.filter(
    (block) => block.language !== 'text' && !isRun(block) && !isOfCommands(block) && reasonOf(block) === undefined,
  )
  assert.deepEqual(
    left.map(({ file, line, heading }) => `${file}:${line} (${heading})`),
    [],
  )
  const planted = blocksIn('# New\n\n    loci nothing of the kind\n', 'docs/new.md')
  assert.equal(planted.length, 1)
  assert.ok(planted.every((block) => !isRun(block) && !isOfCommands(block) && reasonOf(block) === undefined))
})

test('who is said to run a document is a stage of CI and reads it; no entry is for nothing', () => {
  for (const { file, by, reads, languages, headings } of RUNNERS) {
    assert.match(read('.ci/run'), new RegExp(`^ *system ${by}(?= |$)`, 'm'), `${by} is no stage`)
    assert.ok(
      read(reads ?? `tests/system/${by}.ts`).includes(file.replace(/^sdk\//, '')),
      `${by} does not name ${file}`,
    )
    const own = blocks.filter(
      (block) =>
        block.file === file &&
        languages.includes(block.language.split(' ')[0] as string) &&
        (!headings || headings.test(block.heading)),
    )
    assert.ok(own.length > 0, `${file} has no such block`)
  }
  for (const key of Object.keys(REASONS))
    assert.ok(
      blocks.some((block) => key === block.file || key === `${block.file}#${block.heading}`),
      `${key} has no block that needs a reason`,
    )
})
