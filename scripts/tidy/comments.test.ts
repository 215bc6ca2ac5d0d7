import { checkComments, checkWordings } from './comments.ts'
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

const WORDINGS = [
  { what: 'beginnings', pattern: /^Of\b/, max: 1 },
  { what: 'words', pattern: /\btold\b/, max: 0 },
]
// Mutants: a line in the middle of a comment counted as its beginning; tests counted; SQL left out.
const wordings: Example[] = [
  [
    'one more than there may be',
    { 'daemon/a.ts': '/** Of a. */\n\n// Of b.', 'daemon/b.ts': '' },
    /2 beginnings, at most 1/,
  ],
  ['one in SQL', { 'daemon/kv/functions.sql': '-- It is told.' }, /1 words, at most 0/],
  ['as many as there may be', { 'daemon/a.ts': '/** Of a. */' }, undefined],
  ['the second line of a comment', { 'daemon/a.ts': '// Of a.\n// Of b.\nconst told = 1' }, undefined],
  ['a test, and what is no product', { 'daemon/a.test.ts': '// told', 'bench/a.ts': '// told' }, undefined],
]
rule('wordings', wordings, (tree) => checkWordings(tree, WORDINGS))
