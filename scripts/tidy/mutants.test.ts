import { checkMutants } from './mutants.ts'
import { type Example, rule } from './testing/rule.ts'

const mutant = (from: string, file = 'daemon/a.ts') => `plantMutant([{ file: '${file}', from: ${from}, to: '' }])`
const mutants: Example[] = [
  ['text that was changed', { 'tests/a.ts': mutant("'a = 1'"), 'daemon/a.ts': 'const a = 2' }, /a = 1/],
  ['text that is there twice', { 'tests/a.ts': mutant("'a'"), 'daemon/a.ts': 'a a' }, /exactly once/],
  ['a file that was moved', { 'tests/a.ts': mutant("'a'", 'daemon/b.ts') }, /daemon\/b\.ts, which is not there/],
  ['a text that is not literal', { 'tests/a.ts': mutant('`a${b}`'), 'daemon/a.ts': 'a' }, /as a literal text/],
  [
    'on several lines, and the next one',
    { 'tests/a.ts': `x([\n{\nfile: 'sdk/a.ts',\nfrom: "it's",\nto: ',' },\n${mutant('`no`')}`, 'sdk/a.ts': "it's" },
    /daemon\/a\.ts, which/,
  ],
  [
    'text as it stands',
    { 'tests/a.ts': mutant("'  a\\n' + `  b`"), 'daemon/a.ts': '{\n  a\n  b\n}', 'daemon/b.ts': mutant("'no'") },
    undefined,
  ],
]
rule('mutants', mutants, checkMutants)
