import { checkAdvisoryLocks } from './advisory-locks.ts'
import { type Example, rule } from './testing/rule.ts'

const LIST = 'libs/postgres/advisory-locks.ts'
const list = (...numbers: string[]) => ({ [LIST]: numbers.map((number, index) => `n${index}: ${number},\n`).join('') })
const sql = (argument: string) => ({ 'daemon/kv/functions.sql': `perform pg_advisory_xact_lock(${argument});` })

const locks: Example[] = [
  ['a number twice', list('7_026_300_001', '7026300001'), /advisory-locks\.ts:2: 7026300001 has two meanings/],
  ['a number in code', { ...list('7_026_300_001'), 'daemon/a.ts': 'const A = 7_026_300_001' }, /import the number/],
  ['an unknown one in SQL', { ...list('7_026_300_001'), ...sql('7026300002') }, /7026300002 is not in/],
  ['none in SQL', { ...list('7_026_300_001'), ...sql("hashtextextended('a', 0)") }, /without a number/],
  ['a known one in SQL', { ...list('7_026_300_001'), ...sql('hashtextextended(p, 7026300001)') }, undefined],
]
rule('advisory locks', locks, checkAdvisoryLocks)
