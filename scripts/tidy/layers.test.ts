import {
  checkEnvironment,
  checkFeatures,
  checkFloors,
  checkLocks,
  checkRoomCircles,
  checkRoomEdges,
  checkServers,
  checkSql,
  checkTesting,
  checkTransactions,
} from './layers.ts'
import { type Example, rule } from './testing/rule.ts'

const floors: Example[] = [
  ['upward', { 'libs/postgres/a.ts': "import '@loci/daemon/app.ts'" }, /floor 1.*floor 3/],
  ['sideways between libraries', { 'libs/postgres/a.ts': "import '@loci/chassis/log.ts'" }, /lower floor/],
  ['the acts on the programs', { 'libs/acts/a.ts': "import '@loci/daemon/app.ts'" }, /floor 2.*floor 3/],
  ['the acts on the chassis', { 'libs/acts/a.ts': "import '@loci/chassis/route.ts'" }, undefined],
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

const features: Example[] = [
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
  ['ground for everyone', { 'daemon/kv/a.ts': "import '../access/a.ts'\nimport '../events/store.ts'" }, undefined],
  ['ground of the other program', { 'daemon/kv/a.ts': "import '../acts/a.ts'" }, /feature 'kv' imports feature 'acts'/],
  ['ground on a feature', { 'management/acts/a.ts': "import '../billing/fold.ts'" }, /feature 'acts' imports/],
  ['app.ts imports routes', { 'daemon/app.ts': "import './kv/routes.ts'\nimport './health/routes.ts'" }, undefined],
  ['what tests share starts it', { 'daemon/testing/world.ts': "import '../app.ts'" }, undefined],
  ['a test starts the app', { 'daemon/kv/kv.test.ts': "import '../app.ts'\nimport '../cycles/routes.ts'" }, undefined],
]
const DECIDED = { daemon: ['cycles -> working-memory', 'cycles -> memory'], management: [] }
// Edges that the example does not use are reported as well; that they are is the last example's.
rule('features', features, (_, sources) =>
  checkFeatures(sources, DECIDED).filter(({ text }) => !text.startsWith('no import follows')),
)
rule(
  'edges',
  [
    [
      'one that nobody uses',
      { 'daemon/cycles/a.ts': "import '../memory/m.ts'" },
      /'cycles -> working-memory' of daemon/,
    ],
    [
      'one that only a test uses',
      { 'daemon/cycles/a.ts': "import '../memory/m.ts'", 'daemon/cycles/a.test.ts': "import '../working-memory/s.ts'" },
      /'cycles -> working-memory'/,
    ],
    ['all used', { 'daemon/cycles/a.ts': "import '../memory/m.ts'\nimport '../working-memory/s.ts'" }, undefined],
  ],
  (_, sources) => checkFeatures(sources, DECIDED),
)

rule(
  'rooms',
  [
    [
      'two that need each other',
      {
        'daemon/kv/a.ts': "import '../feed/a.ts'",
        'daemon/feed/b.ts': "import '../kv/b.ts'",
        'daemon/feed/a.ts': '',
        'daemon/kv/b.ts': '',
      },
      /the rooms feed, kv import each other/,
    ],
    [
      'a test that looks back',
      {
        'daemon/kv/a.ts': "import '../feed/a.ts'",
        'daemon/feed/a.test.ts': "import '../kv/a.ts'",
        'daemon/feed/a.ts': '',
      },
      undefined,
    ],
  ],
  (_, sources) => checkRoomCircles(sources),
)
const twoEdges = {
  'daemon/kv/a.ts': "import '../feed/a.ts'\nimport '../b.ts'",
  'daemon/feed/a.ts': '',
  'daemon/b.ts': '',
}
rule('room edges', [['two where one is allowed', twoEdges, /2 import edges between rooms, at most 1/]], (_, sources) =>
  checkRoomEdges(sources, { daemon: 1 }),
)
rule('room edges', [['two where two are allowed', twoEdges, undefined]], (_, sources) =>
  checkRoomEdges(sources, { daemon: 2 }),
)

const testing: Example[] = [
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

const environment: Example[] = [
  ['in a feature', { 'daemon/kv/kv.ts': 'const a = process.env.LOCI_A' }, /read it in program\.ts/],
  ['in a library', { 'libs/postgres/pool.ts': 'const { A } = process\n  .env' }, /read it in program\.ts/],
  ['in a main.ts that is none', { 'daemon/kv/main.ts': 'process.env.A' }, /read it in program\.ts/],
  ['in main.ts, tests, scripts', { 'daemon/main.ts': 'process.env.A', 'scripts/a.ts': 'process.env.A' }, undefined],
  [
    'in a test and its database',
    { 'libs/postgres/testing/database.ts': 'process.env.A', 'sdk/a.test.ts': 'process.env.A' },
    undefined,
  ],
  ['in the client of Node', { 'sdk/node.ts': 'process.env' }, undefined],
  ['in the client of browsers', { 'sdk/loci.ts': 'process.env' }, /read it in program\.ts/],
  ['only in a comment', { 'daemon/kv/kv.ts': '// process.env is read in main.ts' }, undefined],
]
rule('environment', environment, (_, sources) => checkEnvironment(sources))

const servers: Example[] = [
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

const sql: Example[] = [
  ['in a route', { 'daemon/kv/routes.ts': "await sql.query('select 1')" }, /store\.ts/],
  ['in app.ts with a type', { 'daemon/app.ts': 'await sql.query<{ a: number }>({ text })' }, /store\.ts/],
  ['in a store', { 'daemon/kv/store.ts': "await sql.query('select 1')" }, undefined],
  ['in a test', { 'daemon/kv/kv.test.ts': "await sql.query('select 1')", 'tests/a.ts': 'sql.query({})' }, undefined],
  ['a property of that name', { 'daemon/kv/routes.ts': 'const { limit } = call.query' }, undefined],
]
rule('sql', sql, (_, sources) => checkSql(sources))

const locks: Example[] = [
  [
    'a tenant in a feature',
    { 'management/billing/store.ts': 'q(`select plan\nfrom loci.tenants where id = $1\nfor no key update`)' },
    /billing\/store\.ts:1: locks rows of loci\.tenants/,
  ],
  ['shared', { 'management/a/store.ts': "q('select from loci.cells for share')" }, /locks rows of loci\.cells/],
  ['in its place', { 'management/acts/locks/store.ts': "q('select from loci.cells for update')" }, undefined],
  [
    "a row of the feature's own",
    { 'management/a/store.ts': "q('select from loci.invitations for update')\nq('select from loci.tenants')" },
    undefined,
  ],
]
rule('locks', locks, (_, sources) => checkLocks(sources))

const transactions: Example[] = [
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
