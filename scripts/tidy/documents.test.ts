import { checkDocumentSizes, checkInventory, checkLinks, checkNamedFiles, checkQuotes } from './documents.ts'
import { type Example, rule } from './testing/rule.ts'

const links: Example[] = [
  ['a file that is not there', { 'docs/a.md': 'x\n[b](b.md)' }, /^docs\/a\.md:2: links to 'b\.md'/],
  ['a heading that is not there', { 'a.md': '[b](b.md#two)', 'b.md': '## One' }, /b\.md has no such heading/],
  ['a heading of its own', { 'a.md': '[b](#two)\n## One' }, /a\.md has no such heading/],
  [
    'what is there',
    {
      'docs/a.md': '[b](../b.md#what-to-do-when-503) [c](#c) [d](..) [e](https://example.test/x)\n## C',
      'b.md': '## What to do, when `503`?',
    },
    undefined,
  ],
  ['code', { 'a.md': '```ts\nconst a = [b](c.md)\n```' }, undefined],
]
rule('links', links, (tree) => checkLinks(tree))

const namedFiles: Example[] = [
  ['a file that is gone', { 'a.md': 'see\n`daemon/gone.ts`' }, /^a\.md:2: names 'daemon\/gone\.ts'/],
  ['a document that is gone', { 'daemon/a.ts': '// docs/gone.md says why' }, /names 'docs\/gone\.md'/],
  [
    'what is there',
    { 'a.md': '`daemon/a.ts` and `scripts/x`', 'daemon/a.ts': '// README.md says why', 'daemon/README.md': '' },
    undefined,
  ],
  ['a decision of its day', { 'docs/decisions/a.md': '`daemon/gone.ts`' }, undefined],
]
rule('named files', namedFiles, (tree) => checkNamedFiles(tree))

const program = {
  'daemon/a.ts': "const env = 'LOCI_LISTEN'\nlog.warn({}, 'waiting for the schema')\nconst NOT_FOUND = 'loci_ready'",
  'docs/api/daemon.openapi.json': '{"paths":{"/v1/entries/{key}": {}}}',
}
const quotes: Example[] = [
  ['a setting that is gone', { ...program, 'a.md': 'set `LOCI_GONE_FILE`' }, /names 'LOCI_GONE_FILE'/],
  ['a metric that is gone', { ...program, 'a.md': '`loci_gone{route}`' }, /names 'loci_gone'/],
  ['a code that is gone', { ...program, 'a.md': '404 `NOT_THERE`' }, /names 'NOT_THERE'/],
  ['a log line that was reworded', { ...program, 'a.md': 'the log line `waiting for it`' }, /quotes 'waiting for it'/],
  [
    'a route that is gone',
    { ...program, 'a.md': '`GET /v1/gone/{key}?x=1`' },
    /names '\/v1\/gone\/\{key\}', which is no route/,
  ],
  [
    'what is in the code',
    {
      ...program,
      'a.md': '`LOCI_LISTEN_FILE`, `loci_ready`, `NOT_FOUND`, the log line `waiting`, `PUT /v1/entries/user_…?x=1`',
    },
    undefined,
  ],
]
rule('quotes', quotes, (tree) => checkQuotes(tree))

const schema = 'CREATE TABLE loci.notes (\n);\nCREATE UNLOGGED TABLE loci.rates (\n);\n'
const tables: Example[] = [
  [
    'a folder that is not named',
    { 'daemon/letters/store.ts': '', 'ARCHITECTURE.md': '`kv`' },
    /does not name the folder 'letters'/,
  ],
  [
    'a folder that is named',
    { 'daemon/api-keys/a.ts': '', 'daemon/testing/a.ts': '', 'ARCHITECTURE.md': '`api-keys`' },
    undefined,
  ],
  [
    'one that is not described',
    { 'daemon/schema.sql': schema, 'ARCHITECTURE.md': '| `rates` |' },
    /does not say what 'notes'/,
  ],
  ['both described', { 'daemon/schema.sql': schema, 'ARCHITECTURE.md': '| `rates`, `notes` |' }, undefined],
]
const metric = "metrics.gauge(\n  'loci_ready', 'help', () => 1)"
tables.push(
  ['a metric that is not described', { 'libs/chassis/serve.ts': metric }, /does not say what 'loci_ready'/],
  [
    'a metric that is described',
    { 'libs/chassis/serve.ts': metric, 'docs/operations/metrics.md': '| `loci_ready` |' },
    undefined,
  ],
)
rule('inventory', tables, (tree) => checkInventory(tree))

const sizes: Example[] = [
  ['a README of 6,001 bytes', { 'README.md': 'a'.repeat(6_001) }, /6001 bytes, more than the 6000/],
  ['a page of operations', { 'docs/operations/a.md': 'a'.repeat(7_801) }, /7801 bytes/],
  ['a README of 6,000 bytes', { 'README.md': 'a'.repeat(6_000), 'docs/api/errors.md': 'a'.repeat(99_999) }, undefined],
]
rule('document sizes', sizes, (tree) => checkDocumentSizes(tree))
