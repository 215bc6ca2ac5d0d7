import { checkCircles, checkDeadFiles, checkExports } from './reach.ts'
import { type Example, rule } from './testing/rule.ts'

const circles: Example[] = [
  [
    'two files',
    { 'daemon/a.ts': "import './b.ts'", 'daemon/b.ts': "import './a.ts'" },
    /daemon\/a\.ts -> daemon\/b\.ts -> daemon\/a\.ts/,
  ],
  [
    'type-only',
    { 'sdk/a.ts': "import type { B } from './b.ts'", 'sdk/b.ts': "import type { A } from './a.ts'" },
    /import circle/,
  ],
  ['itself', { 'daemon/a.ts': "import './a.ts'" }, /daemon\/a\.ts -> daemon\/a\.ts/],
  [
    'across packages',
    { 'libs/contract/a.ts': "import '@loci/sdk/b.ts'", 'sdk/b.ts': "import '@loci/contract/a.ts'" },
    /circle/,
  ],
  [
    'a diamond',
    {
      'd/a.ts': "import './b.ts'\nimport './c.ts'",
      'd/b.ts': "import './d.ts'",
      'd/c.ts': "import './d.ts'",
      'd/d.ts': '',
    },
    undefined,
  ],
]
rule('circles', circles, (_, sources) => checkCircles(sources))

const deadFiles: Example[] = [
  ['nobody imports it', { 'daemon/kv/old.ts': '' }, /use it or delete it/],
  ['only a dead file imports it', { 'daemon/a.ts': "import './b.ts'", 'daemon/b.ts': '' }, /daemon\/b\.ts:1/],
  ['imported', { 'daemon/main.ts': "import './app.ts'", 'daemon/app.ts': '' }, undefined],
  [
    'only a test imports it',
    { 'daemon/a.test.ts': "import './a.ts'", 'daemon/a.ts': '' },
    /only tests reach this file/,
  ],
  [
    'only a benchmark imports it',
    { 'bench/a.ts': "import '@loci/daemon/a.ts'", 'daemon/a.ts': '' },
    /only tests reach/,
  ],
  ['test support', { 'daemon/a.test.ts': "import './testing/a.ts'", 'daemon/testing/a.ts': '' }, undefined],
  ['planned', { 'libs/contract/a.test.ts': "import './advice.ts'", 'libs/contract/advice.ts': '' }, undefined],
  [
    'planned and come',
    { 'daemon/main.ts': "import '@loci/contract/advice.ts'", 'libs/contract/advice.ts': '' },
    /take it out of PLANNED/,
  ],
  [
    'a worker',
    { 'daemon/main.ts': "new Worker(new URL('./index-worker.ts', import.meta.url))", 'daemon/index-worker.ts': '' },
    undefined,
  ],
  [
    'a script of package.json',
    { 'package.json': '{"scripts":{"dev":"node scripts/dev.ts"}}', 'scripts/dev.ts': '' },
    undefined,
  ],
  ['a script of .ci/run', { '.ci/run': 'node scripts/conformance.ts', 'scripts/conformance.ts': '' }, undefined],
  ['a system test', { 'tests/system/boot.ts': '', 'bench/recall.ts': '' }, undefined],
]
const plan = [{ pattern: /^libs\/contract\/advice\.ts$/, why: 'a feature that comes' }]
rule('dead files', deadFiles, (tree, sources) => checkDeadFiles(tree, sources, plan))

const exported: Example[] = [
  ['nobody imports it', { 'daemon/a.ts': 'export const lost = 1' }, /nobody imports 'lost'/],
  [
    'another name is imported',
    { 'daemon/a.ts': 'export const a = 1\nexport const b = 2', 'daemon/b.ts': "import { a } from './a.ts'" },
    /'b'/,
  ],
  [
    'a type that its own file uses',
    {
      'daemon/a.ts': 'export interface A {}\nexport const b = (a: A) => a',
      'daemon/b.ts': "import { b } from './a.ts'",
    },
    undefined,
  ],
  [
    'only a test imports it',
    { 'daemon/a.ts': 'export const a = 1', 'daemon/a.test.ts': "import { a } from './a.ts'" },
    /only tests use 'a'/,
  ],
  [
    'a test imports what its own file uses',
    { 'daemon/a.ts': 'export const a = 1\nuse(a)', 'daemon/a.test.ts': "import { a } from './a.ts'" },
    undefined,
  ],
  [
    'test support for a test',
    { 'daemon/testing/a.ts': 'export const a = 1', 'daemon/a.test.ts': "import { a } from './testing/a.ts'" },
    undefined,
  ],
  [
    'under another name',
    { 'libs/contract/a.ts': 'export const a = 1', 'sdk/b.ts': "import { a as b } from '@loci/contract/a.ts'" },
    undefined,
  ],
  [
    'all of it',
    { 'daemon/a.ts': 'export const a = 1', 'daemon/b.ts': "import * as everything from './a.ts'" },
    undefined,
  ],
  ['the published client', { 'sdk/client.ts': 'export const openLoci = 1' }, undefined],
]
rule('exports', exported, (_, sources) => checkExports(sources))
