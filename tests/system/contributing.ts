// The worked feature of CONTRIBUTING.md works as it is written: made in a copy of the tree, it passes `npm run check`,
// its own test, the matrix and the erasure of an instance. Each mutant leaves out what the document says is needed.

import { reportOn } from '../world/report.ts'
import { type Block, copyWith, readBlocks } from '../world/worked-feature.ts'

const TESTS = [
  'daemon/notes',
  'daemon/examples',
  'daemon/access/matrix',
  'daemon/feed/purge',
  'daemon/databases/databases',
  'daemon/operator/databases',
  'daemon/schema',
]

interface Mutant {
  name: string
  change(block: Block): Block | undefined
  /** The test that must fail. */
  caughtBy: { file: string; title: string }
}

const ENTERS = /^ *select e\.outcome into outcome from loci\.enter_database.*$/m
const MUTANTS: Mutant[] = [
  {
    name: 'a function that does not enter its database',
    change: (block) => ({ ...block, code: block.code.replace(ENTERS, "  outcome := 'open';") }),
    caughtBy: {
      file: 'daemon/databases/databases',
      title: 'every function that writes rows of tenants enters its database first',
    },
  },
  {
    name: 'a route without its row in the matrix',
    change: (block) => (block.file.endsWith('matrix.ts') ? undefined : block),
    caughtBy: { file: 'daemon/access/matrix', title: 'PUT /v1/notes/{id} is registered and has no row' },
  },
]

await reportOn(async (report) => {
  const blocks = readBlocks()
  await using copy = await copyWith(blocks)
  for (const script of ['scripts/schema.ts', 'scripts/examples.ts', 'scripts/documents.ts']) await copy.run(script)
  const check = await copy.run('scripts/check.ts')
  report.promise('the feature passes npm run check', check.code === 0, lastLine(check.output))
  if (check.code !== 0) report.note(check.output)
  const tests = await copy.run('scripts/test.ts', ...TESTS)
  report.promise('its tests, the matrix and the erasure pass', tests.code === 0, lastLine(tests.output))
  if (tests.code !== 0) report.note(tests.output)

  for (const { name, change, caughtBy } of MUTANTS) {
    await using mutant = await copyWith(blocks.map(change).filter((block) => block !== undefined))
    const { code, output } = await mutant.run('scripts/test.ts', caughtBy.file)
    report.mutant(name, code !== 0 && output.includes(caughtBy.title) ? caughtBy.title : undefined)
  }
})

function lastLine(output: string): string {
  return output.trimEnd().split('\n').at(-1) ?? ''
}
