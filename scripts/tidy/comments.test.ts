import { checkComments } from './comments.ts'
import { type Example, rule } from './testing/rule.ts'

const comments: Example[] = [
  ['121 columns', { 'daemon/a.ts': `  // ${'a'.repeat(116)}` }, /a comment of 121 columns/],
  ['of a block', { 'daemon/a.ts': `/**\n * ${'a'.repeat(118)}\n */` }, /daemon\/a\.ts:2/],
  ['of SQL', { 'daemon/kv/functions.sql': `-- ${'a'.repeat(118)}` }, /a comment of 121 columns/],
  ['120 columns', { 'daemon/a.ts': `  // ${'a'.repeat(115)}` }, undefined],
  [
    'code and generated files',
    { 'a.ts': 'a'.repeat(121), 'sdk/a.ts': `// Generated from ${'a'.repeat(120)}` },
    undefined,
  ],
]
rule('comments', comments, checkComments)
