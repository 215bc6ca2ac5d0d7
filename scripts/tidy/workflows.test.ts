import { type Example, rule } from './testing/rule.ts'
import { checkWorkflows } from './workflows.ts'

const WORKFLOW = `name: interpreters
on:
  workflow_dispatch:
permissions:
  contents: read
jobs:
  clients:
    runs-on: ubuntu-24.04
    timeout-minutes: 60
    steps:
      - uses: actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1
        with:
          persist-credentials: false
      - uses: actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0
        with:
          python-version: |
            3.10
            3.11
      - run: npm run check
      - run: npm run test:system -- python --short
  adapters:
    strategy:
      matrix:
        python: ['3.10', '3.11']
    runs-on: ubuntu-24.04
    timeout-minutes: 60
    steps:
      - run: npm ci
`
const FILES = {
  'package.json': '{"scripts":{"check":"a","test:system":"b"}}',
  'tests/system/python.ts': '',
  'clients/python/pyproject.toml':
    '"Programming Language :: Python :: 3.10",\n"Programming Language :: Python :: 3.11",\n',
}
const NAME = '.github/workflows/interpreters.yml'

const changed = (name: string, from: string | RegExp, to: string, expected: RegExp): Example => {
  const text = WORKFLOW.replace(from, to)
  if (text === WORKFLOW) throw new Error(`${from} is not there`)
  return [name, { ...FILES, [NAME]: text }, expected]
}

const workflows: Example[] = [
  ['one that keeps to it', { ...FILES, [NAME]: WORKFLOW }, undefined],
  changed('an action by its tag', /checkout@[0-9a-f]+ # v[\d.]+/, 'checkout@v7', /pinned/),
  changed('a commit that does not say its version', '# v7.0.1', '', /pinned/),
  changed('every right', 'permissions:\n  contents: read\n', '', /no permissions/),
  changed('a key that GitHub does not know', 'timeout-minutes', 'timeout-minute', /has timeout-minute,/),
  changed('a job without an end', '    timeout-minutes: 60\n', '', /clients has no deadline/),
  changed('a token that stays', 'persist-credentials: false', 'fetch-depth: 0', /token in the checkout/),
  changed('a system test that is not there', '-- python', '-- phyton', /no system test phyton/),
  changed('a script that is not there', 'npm run check', 'npm run chekc', /no script chekc/),
  changed('what a stranger wrote', 'npm ci', 'echo ${{ github.event.head_commit.message }}', /stranger/),
  changed(
    'code of a fork with the rights of the repository',
    'workflow_dispatch',
    'pull_request_target',
    /on has pull/,
  ),
  changed('a key twice', 'jobs:', 'permissions:\n  contents: write\njobs:', /unique/),
  changed('a Python that nobody runs', "'3.11'", "'3.12'", /Python 3\.11/),
]
rule('workflows', workflows, checkWorkflows)
