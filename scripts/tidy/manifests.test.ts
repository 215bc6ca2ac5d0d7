import { checkDependencies, checkLicences, checkLockfile, checkVersions } from './manifests.ts'
import { type Example, rule } from './testing/rule.ts'

const dependencies: Example[] = [
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

const versions: Example[] = [
  [
    'a caret',
    { 'daemon/package.json': '{\n"dependencies":{\n"pg":"^8.0.0"}}' },
    /^daemon\/package\.json:3: 'pg' is '\^8/,
  ],
  ['any', { 'package.json': '{"devDependencies":{"pg":"*"}}' }, /exact version/],
  ['exact', { 'package.json': '{"dependencies":{"pg":"8.0.0","a":"1.0.0-beta.2","@loci/sdk":"*"}}' }, undefined],
]
rule('versions', versions, (tree) => checkVersions(tree))

const licences: Example[] = [
  ['none', { 'sdk/package.json': '{}' }, /sdk\/package\.json:1: says no "license"/],
  ['another', { 'package.json': '{\n"license":"UNLICENSED"}' }, /^package\.json:2: says no/],
  ['ours', { 'package.json': '{"license":"Apache-2.0"}' }, undefined],
]
rule('licences', licences, (tree) => checkLicences(tree))

const digest = `sha512-${'A'.repeat(86)}==`
const locked = (entry: object) => ({ 'package-lock.json': JSON.stringify({ packages: { 'node_modules/pg': entry } }) })
const lockfile: Example[] = [
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
