// For every rule one tree that breaks it and one that keeps it: a rule that cannot fail here guards nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkNames, checkPlaces, warnLongFiles } from './tidy/files.ts'
import {
  checkEnvironment,
  checkFeatures,
  checkFloors,
  checkServers,
  checkSql,
  checkTesting,
  checkTransactions,
  type Problem,
} from './tidy/layers.ts'
import { checkDependencies, checkLicences, checkLockfile, checkVersions } from './tidy/manifests.ts'
import { checkCircles, checkDeadFiles, checkExports } from './tidy/reach.ts'
import { readSource, readSources, type Source, type Tree } from './tidy/source.ts'

type Files = Record<string, string>

test('the scanner reads every form of import and its line', () => {
  const source = readSource(
    'daemon/a.ts',
    [
      "import zero from './zero.ts'",
      "import type { One } from './one.ts'",
      'import {\n  two as deux,\n  type Three,\n} from "./two.ts"',
      "import * as four from './four.ts'",
      "import './five.ts'",
      "export { six } from './six.ts'",
      "export * from './seven.ts'",
      "const eight = await import('./eight.ts')",
      "const nine = import.meta.resolve('./nine.ts')",
      "import { type Ten } from './ten.ts'",
    ].join('\n'),
  )
  const seen = source.imports.map(({ specifier, line, typeOnly }) => `${line} ${specifier}${typeOnly ? ' type' : ''}`)
  assert.deepEqual(seen.toSorted(), [
    '1 ./zero.ts',
    '10 ./seven.ts',
    '11 ./eight.ts',
    '12 ./nine.ts',
    '13 ./ten.ts type',
    '2 ./one.ts type',
    '3 ./two.ts',
    '7 ./four.ts',
    '8 ./five.ts',
    '9 ./six.ts',
  ])
})

test('the scanner sees no import in comments, strings, templates and regular expressions', () => {
  const source = readSource(
    'daemon/a.ts',
    [
      "// import './a.ts'",
      "/* import './b.ts'\n import './c.ts' */",
      'const text = "import \'./d.ts\'"',
      "const long = `import './e.ts' ${nested(`import './f.ts' ${'}'}`)} import './g.ts'`",
      "const pattern = /import '.\\/h.ts'[/'\"]/",
      "const ratio = one / two; import './real.ts' // a / b",
    ].join('\n'),
  )
  assert.deepEqual(
    source.imports.map(({ specifier }) => specifier),
    ['./real.ts'],
  )
})

test('the scanner keeps the code inside a template and survives an apostrophe in JSX', () => {
  const template = readSource('daemon/a.ts', 'const url = `/x/${process.env.HOME}/y`')
  assert.match(template.code, /process\.env\.HOME/)
  const jsx = readSource('console/a.tsx', "const a = <p>don't</p>\nimport { b } from './b.ts'\nconst c = <br />")
  assert.deepEqual(
    jsx.imports.map(({ specifier }) => specifier),
    ['./b.ts'],
  )
})

test('the scanner lists every exported name but those of types, which belong to what is exported with them', () => {
  const source = readSource(
    'daemon/a.ts',
    [
      'export const one = 1, hidden = 2',
      'export async function two() {}',
      'export type Three = string',
      'export class Four {}',
      'const five = 5\nexport { five, five as six }',
      'export const { seven, eight: nine } = two()',
      'export default five',
    ].join('\n'),
  )
  const names = source.exports.map(({ name }) => name).toSorted()
  assert.deepEqual(names, ['Four', 'default', 'five', 'nine', 'one', 'seven', 'six', 'two'])
})

const floors: [name: string, files: Files, expected: RegExp | undefined][] = [
  ['upward', { 'libs/postgres/a.ts': "import '@loci/daemon/app.ts'" }, /floor 1.*floor 3/],
  ['sideways between libraries', { 'libs/postgres/a.ts': "import '@loci/chassis/log.ts'" }, /lower floor/],
  ['sideways between programs', { 'daemon/a.ts': "import '@loci/management/app.ts'" }, /lower floor/],
  ['type-only upward', { 'libs/contract/a.ts': "import type { A } from '@loci/sdk/client.ts'" }, /lower floor/],
  ['out of the package by a relative path', { 'daemon/a.ts': "import '../libs/contract/ids.ts'" }, /@loci\/contract/],
  ['a package without a file', { 'daemon/a.ts': "import '@loci/contract'" }, /names no file/],
  ['a package that does not exist', { 'daemon/a.ts': "import '@loci/shared/a.ts'" }, /no package of this/],
  ['its own package by name', { 'daemon/a.ts': "import '@loci/daemon/b.ts'" }, /relative path/],
  ['the sdk with a server', { 'sdk/a.test.ts': "import '@loci/chassis/log.ts'" }, /may import libs\/contract and/],
  ['a folder without a floor', { 'attic/a.ts': '' }, /has no floor/],
  ['the sdk on the contract', { 'sdk/a.ts': "import '@loci/contract/ids.ts'" }, undefined],
  ['downward', { 'daemon/a.ts': "import '@loci/contract/ids.ts'\nimport '@loci/sdk/client.ts'" }, undefined],
  ['within the package', { 'libs/chassis/a.ts': "import './b.ts'", 'daemon/kv/a.ts': "import '../b.ts'" }, undefined],
  ['from the top floor', { 'tests/a.ts': "import '@loci/daemon/app.ts'" }, undefined],
]
rule('floors', floors, (_, sources) => checkFloors(sources))

const features: typeof floors = [
  [
    'an edge nobody decided',
    { 'daemon/kv/kv.ts': "import '../cycles/cycle.ts'" },
    /feature 'kv' imports feature 'cycles'/,
  ],
  ['an edge backwards', { 'daemon/memory/memory.ts': "import '../cycles/cycle.ts'" }, /FEATURE_EDGES/],
  ['health imports a feature', { 'daemon/health/health.ts': "import '../kv/kv.ts'" }, /feature 'health'/],
  ['access imports a feature', { 'daemon/access/access.ts': "import '../kv/kv.ts'" }, /feature 'access'/],
  ['a feature imports app.ts', { 'daemon/kv/routes.ts': "import '../app.ts'" }, /let app\.ts hand/],
  ['a feature imports main.ts', { 'management/billing/a.ts': "import '../main.ts'" }, /let app\.ts hand/],
  [
    'routes of a decided edge',
    { 'daemon/cycles/a.ts': "import '../memory/routes.ts'" },
    /only daemon\/app\.ts and tests/,
  ],
  ['routes from beside app.ts', { 'daemon/worker.ts': "import './kv/routes.ts'" }, /only daemon\/app\.ts and tests/],
  [
    'the decided edges',
    { 'daemon/cycles/a.ts': "import '../working-memory/slots.ts'\nimport '../memory/m.ts'" },
    undefined,
  ],
  ['commands on any feature', { 'management/commands/a.ts': "import '../tokens/tokens.ts'" }, undefined],
  ['a feature on commands', { 'management/tokens/a.ts': "import '../commands/verb.ts'" }, /FEATURE_EDGES/],
  ['ground for everyone', { 'daemon/kv/a.ts': "import '../access/a.ts'\nimport '../audit/store.ts'" }, undefined],
  ['ground of the other program', { 'daemon/kv/a.ts': "import '../acts/a.ts'" }, /feature 'kv' imports feature 'acts'/],
  ['ground on a feature', { 'management/acts/a.ts': "import '../billing/fold.ts'" }, /feature 'acts' imports/],
  ['app.ts imports routes', { 'daemon/app.ts': "import './kv/routes.ts'\nimport './health/routes.ts'" }, undefined],
  ['what tests share starts it', { 'daemon/testing/world.ts': "import '../app.ts'" }, undefined],
  ['a test starts the app', { 'daemon/kv/kv.test.ts': "import '../app.ts'\nimport '../cycles/routes.ts'" }, undefined],
]
rule('features', features, (_, sources) => checkFeatures(sources))

const testing: typeof floors = [
  ['a program on its own', { 'daemon/app.ts': "import './testing/daemon.ts'" }, /product code imports daemon\/testing/],
  [
    'a type of another',
    { 'daemon/a.ts': "import type { A } from '@loci/postgres/testing/a.ts'" },
    /which is for tests/,
  ],
  ['on a test', { 'libs/chassis/a.ts': "import './b.test.ts'" }, /which is for tests/],
  ['a test, test support', { 'daemon/kv/a.test.ts': "import '../testing/daemon.ts'" }, undefined],
  ['bench and scripts', { 'bench/a.ts': "import '@loci/postgres/testing/throwaway.ts'" }, undefined],
]
rule('testing', testing, (_, sources) => checkTesting(sources))

const environment: typeof floors = [
  ['in a feature', { 'daemon/kv/kv.ts': 'const a = process.env.LOCI_A' }, /read it in main\.ts/],
  ['in a library', { 'libs/postgres/pool.ts': 'const { A } = process\n  .env' }, /read it in main\.ts/],
  ['in a main.ts that is none', { 'daemon/kv/main.ts': 'process.env.A' }, /read it in main\.ts/],
  ['in main.ts, tests, scripts', { 'daemon/main.ts': 'process.env.A', 'scripts/a.ts': 'process.env.A' }, undefined],
  [
    'in a test and its database',
    { 'libs/postgres/testing/database.ts': 'process.env.A', 'sdk/a.test.ts': 'process.env.A' },
    undefined,
  ],
  ['only in a comment', { 'daemon/kv/kv.ts': '// process.env is read in main.ts' }, undefined],
]
rule('environment', environment, (_, sources) => checkEnvironment(sources))

const servers: typeof floors = [
  ['a framework in a program', { 'daemon/app.ts': "import fastify from 'fastify'" }, /only libs\/chassis/],
  [
    'a bare server in a program',
    { 'management/app.ts': "import { createServer } from 'node:http'" },
    /only libs\/chassis/,
  ],
  ['a type in a program', { 'management/app.ts': "import type { IncomingMessage } from 'node:http'" }, undefined],
  ['in the chassis', { 'libs/chassis/listener.ts': "import { createServer } from 'node:http'" }, undefined],
  ['in a test', { 'tests/world/proxy.ts': "import { createServer } from 'node:http'" }, undefined],
]
rule('servers', servers, (_, sources) => checkServers(sources))

const sql: typeof floors = [
  ['in a route', { 'daemon/kv/routes.ts': "await sql.query('select 1')" }, /store\.ts/],
  ['in app.ts with a type', { 'daemon/app.ts': 'await sql.query<{ a: number }>({ text })' }, /store\.ts/],
  ['in a store', { 'daemon/kv/store.ts': "await sql.query('select 1')" }, undefined],
  ['in a test', { 'daemon/kv/kv.test.ts': "await sql.query('select 1')", 'tests/a.ts': 'sql.query({})' }, undefined],
  ['a property of that name', { 'daemon/kv/routes.ts': 'const { limit } = call.query' }, undefined],
]
rule('sql', sql, (_, sources) => checkSql(sources))

const transactions: typeof floors = [
  [
    'fetch',
    { 'daemon/a.ts': 'await transaction(pool, async (sql) => {\n  await fetch(url)\n})' },
    /^daemon\/a\.ts:2: calls fetch/,
  ],
  ['request', { 'daemon/a.ts': "import { request } from 'undici'\ntransaction(p, () => request(u))" }, /calls request/],
  ['http by name', { 'daemon/a.ts': "import http from 'node:http'\ntransaction(p, () => http.get(u))" }, /calls http/],
  [
    'a sleep',
    { 'daemon/a.ts': "import { setTimeout as nap } from 'node:timers/promises'\ntransaction(p, () => nap(5))" },
    /calls nap/,
  ],
  [
    'a bare timer',
    { 'daemon/a.ts': 'db.transaction<void>(() => new Promise((r) => setTimeout(r, 9)))' },
    /calls setTimeout/,
  ],
  [
    'the sdk',
    { 'management/a.ts': "import { openDaemon } from '@loci/sdk/client.ts'\ntransaction(p, () => openDaemon(u))" },
    /calls openDaemon/,
  ],
  [
    'a client file',
    { 'management/a.ts': "import { cells } from './cell-client.ts'\ntransaction(p, () => cells.list())" },
    /calls cells/,
  ],
  ['after the commit', { 'daemon/a.ts': 'await transaction(pool, () => insert(1))\nawait fetch(url)' }, undefined],
  [
    'a type of the sdk',
    { 'management/a.ts': "import type { Cell } from '@loci/sdk/cell.ts'\ntransaction(p, (c: Cell) => c)" },
    undefined,
  ],
  ['a method that is called fetch', { 'daemon/a.ts': 'transaction(p, (sql) => cursor.fetch(sql))' }, undefined],
]
rule('transactions', transactions, (_, sources) => checkTransactions(sources))

const circles: typeof floors = [
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

const deadFiles: typeof floors = [
  ['nobody imports it', { 'daemon/kv/old.ts': '' }, /use it or delete it/],
  ['only a dead file imports it', { 'daemon/a.ts': "import './b.ts'", 'daemon/b.ts': '' }, /daemon\/b\.ts:1/],
  ['imported', { 'daemon/main.ts': "import './app.ts'", 'daemon/app.ts': '' }, undefined],
  ['imported by a test', { 'daemon/a.test.ts': "import './a.ts'", 'daemon/a.ts': '' }, undefined],
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
rule('dead files', deadFiles, checkDeadFiles)

const exported: typeof floors = [
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
    'a test imports it',
    { 'daemon/a.ts': 'export const a = 1', 'daemon/a.test.ts': "import { a } from './a.ts'" },
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

const dependencies: typeof floors = [
  [
    'undeclared',
    { 'daemon/package.json': '{}', 'daemon/a.ts': "import pg from 'pg'" },
    /imports 'pg', which daemon\/package\.json/,
  ],
  [
    'declared by the root only',
    {
      'package.json': '{"devDependencies":{"jose":"6.0.0"}}',
      'daemon/package.json': '{}',
      'daemon/a.ts': "import 'jose'",
    },
    /imports 'jose'/,
  ],
  [
    'for development only',
    { 'daemon/package.json': '{"devDependencies":{"pg":"8.0.0"}}', 'daemon/a.ts': "import 'pg'" },
    /in its dependencies/,
  ],
  ['never imported', { 'daemon/package.json': '{"dependencies":{"pg":"8.0.0"}}' }, /nothing imports 'pg'/],
  [
    'imported by another package',
    {
      'sdk/package.json': '{"dependencies":{"pg":"8.0.0"}}',
      'daemon/package.json': '{"dependencies":{"pg":"8.0.0"}}',
      'daemon/a.ts': "import 'pg'",
    },
    /sdk\/package\.json:1: nothing/,
  ],
  [
    'declared, by path and by scope',
    { 'daemon/package.json': '{"dependencies":{"@a/b":"1.0.0"}}', 'daemon/a.ts': "import '@a/b/c'" },
    undefined,
  ],
  [
    'for development, in a test',
    { 'daemon/package.json': '{"devDependencies":{"pg":"8.0.0"}}', 'daemon/a.test.ts': "import 'pg'" },
    undefined,
  ],
  [
    "the root's, in a test and a script",
    {
      'package.json': '{"devDependencies":{"fast-check":"4.0.0"}}',
      'daemon/a.test.ts': "import 'fast-check'",
      'scripts/a.ts': "import 'fast-check'",
    },
    undefined,
  ],
  [
    'a package of ours, undeclared',
    { 'daemon/package.json': '{}', 'daemon/a.ts': "import '@loci/contract/ids.ts'" },
    /imports '@loci\/contract', which daemon\/package\.json does not have in its dependencies/,
  ],
  [
    'a package of ours, unused',
    { 'daemon/package.json': '{"dependencies":{"@loci/contract":"*"}}' },
    /nothing imports '@loci\/contract'/,
  ],
  [
    'node, itself and a declared package of ours',
    {
      'daemon/package.json': '{"name":"@loci/daemon","dependencies":{"@loci/contract":"*"}}',
      'daemon/a.ts': "import 'node:fs'\nimport '@loci/contract/ids.ts'\nimport '@loci/daemon/b.ts'",
    },
    undefined,
  ],
  [
    'types, tools and the optional',
    {
      'package.json':
        '{"devDependencies":{"@types/node":"24.0.0","typescript":"7.0.0"},"optionalDependencies":{"x":"1.0.0"}}',
    },
    undefined,
  ],
]
rule('dependencies', dependencies, checkDependencies)

const versions: typeof floors = [
  [
    'a caret',
    { 'daemon/package.json': '{\n"dependencies":{\n"pg":"^8.0.0"}}' },
    /^daemon\/package\.json:3: 'pg' is '\^8/,
  ],
  ['any', { 'package.json': '{"devDependencies":{"pg":"*"}}' }, /exact version/],
  ['exact', { 'package.json': '{"dependencies":{"pg":"8.0.0","a":"1.0.0-beta.2","@loci/sdk":"*"}}' }, undefined],
]
rule('versions', versions, (tree) => checkVersions(tree))

const licences: typeof floors = [
  ['none', { 'sdk/package.json': '{}' }, /sdk\/package\.json:1: says no "license"/],
  ['another', { 'package.json': '{\n"license":"UNLICENSED"}' }, /^package\.json:2: says no/],
  ['ours', { 'package.json': '{"license":"Apache-2.0"}' }, undefined],
]
rule('licences', licences, (tree) => checkLicences(tree))

const digest = `sha512-${'A'.repeat(86)}==`
const locked = (entry: object) => ({ 'package-lock.json': JSON.stringify({ packages: { 'node_modules/pg': entry } }) })
const lockfile: typeof floors = [
  ['no digest', locked({ version: '8.0.0' }), /'node_modules\/pg' has no sha512 digest/],
  ['a weak digest', locked({ integrity: `sha1-${'A'.repeat(27)}=` }), /no sha512 digest/],
  ['a host', locked({ integrity: digest, resolved: 'https://packages.example/pg.tgz' }), /names where it came from/],
  [
    'below a workspace',
    { 'package-lock.json': '{"packages":{"daemon/node_modules/pg":{}}}' },
    /'daemon\/node_modules\/pg' has no sha512 digest/,
  ],
  ['with its digest', locked({ integrity: digest }), undefined],
  ['a workspace', locked({ resolved: 'libs/postgres', link: true }), undefined],
]
rule('lockfile', lockfile, (tree) => checkLockfile(tree))

const names: typeof floors = [
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
const places: typeof floors = [
  ['a path of one machine', { 'README.md': `see\n${machine}/x` }, /^README\.md:2: names a path/],
  ['a home', { 'scripts/a.ts': `const a = '${home}'` }, /names a path/],
  ['a registry', { 'package-lock.json': `"resolved": "https://${registry}/pg"` }, /package registry/],
  ['a registry setting', { '.npmrc': `${'registry'}=https://example.test` }, /package registry/],
  ['routes and relative paths', { 'README.md': '/v1/work/items ./work/a GET /kv/root/' }, undefined],
]
rule('places', places, (tree) => checkPlaces(tree))

const lengths: typeof floors = [
  ['451 lines', { 'daemon/a.ts': '\n'.repeat(451) }, /451 lines/],
  ['450 lines', { 'daemon/a.ts': '\n'.repeat(450) }, undefined],
]
rule('lengths', lengths, (tree) => warnLongFiles(tree))

function rule(
  name: string,
  examples: typeof floors,
  check: (tree: Tree, sources: Map<string, Source>) => Problem[],
): void {
  for (const [example, files, expected] of examples) {
    test(`${name}: ${example} is ${expected ? 'reported' : 'let through'}`, () => {
      const tree = new Map(Object.entries(files))
      const said = check(tree, readSources(tree)).map(({ path, line, text }) => `${path}:${line}: ${text}`)
      if (!expected) assert.deepEqual(said, [])
      else
        assert.ok(
          said.some((text) => expected.test(text)),
          `expected ${expected} among ${JSON.stringify(said)}`,
        )
    })
  }
}
