import { checkLengths, checkNames, checkPlaces } from './files.ts'
import { type Example, rule } from './testing/rule.ts'

const names: Example[] = [
  ['a folder', { 'daemon/utils/a.ts': '' }, /folder 'utils'/],
  ['a file', { 'daemon/kv/types.ts': '' }, /'types\.ts' says nothing/],
  ['a barrel', { 'daemon/kv/index.ts': '' }, /barrel/],
  ['a layer', { 'daemon/services/kv.ts': '' }, /is a layer/],
  ['another layer', { 'management/billing/repositories/a.ts': '' }, /is a layer/],
  ['JavaScript', { 'scripts/a.js': '' }, /not TypeScript/],
  ["the API's own noun", { 'management/services/store.ts': '', 'libs/contract/services.ts': '' }, undefined],
]
rule('names', names, (tree) => checkNames(tree))

const machine = ['', 'work', 'main'].join('/')
const home = ['', 'home', 'ada', 'loci'].join('/')
const registry = ['registry', 'npmjs', 'org'].join('.')
const places: Example[] = [
  ['a path of one machine', { 'README.md': `see\n${machine}/x` }, /^README\.md:2: names a path/],
  ['a home', { 'scripts/a.ts': `const a = '${home}'` }, /names a path/],
  ['a registry', { 'package-lock.json': `"resolved": "https://${registry}/pg"` }, /package registry/],
  ['a registry setting', { '.npmrc': `${'registry'}=https://example.test` }, /package registry/],
  ['routes and relative paths', { 'README.md': '/v1/work/items ./work/a GET /kv/root/' }, undefined],
]
rule('places', places, (tree) => checkPlaces(tree))

const lengths: Example[] = [
  ['401 lines', { 'daemon/a.ts': '\n'.repeat(401) }, /401 lines, at most 400/],
  ['401 lines of a test', { 'daemon/a.test.ts': '\n'.repeat(401) }, /401 lines/],
  ['401 lines of functions', { 'daemon/a/functions.sql': '\n'.repeat(401) }, /401 lines/],
  ['400 lines', { 'daemon/a.ts': '\n'.repeat(400) }, undefined],
  ['a migration and what is generated', { 'daemon/migrations/0001-a.sql': '\n'.repeat(999) }, undefined],
]
rule('lengths', lengths, checkLengths)
