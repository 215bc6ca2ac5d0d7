// What both OpenAPI documents promise to who reads them, beyond what redocly holds in `npm run check`.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { docsPage } from '@loci/chassis/docs-page.ts'
import { SHELL } from '@loci/chassis/shell-names.ts'

/** What a caller can do. A new one is added here when no other says it. */
const VERBS = new Set(
  `Accept Adopt Allow Approve Ask Change Check Clear Create Delete Deliver Deny Describe Disable Enable End Erase
  Exchange Finish Give Have Ingest Invite Issue List Pass Place Poll Put Rank Read Recall Redirect Refresh
  Register Remove Rename Replace Report Reset Resume Retry Revoke Rotate Run Send Show Sign Start Store Stream
  Suspend Undo Verify Withdraw Write`.split(/\s+/),
)
const CHARACTERS_MAX = 110

/** One sentence that begins with a verb in the imperative. What else is to be said stands in `details` of the route. */
function isPlain(summary: string): boolean {
  const verb = /^([A-Z][a-z]+),? [^.;:!?]+\.$/.exec(summary)?.[1]
  return verb !== undefined && VERBS.has(verb) && summary.length <= CHARACTERS_MAX
}

function summaries(program: string): [line: string, summary: string][] {
  const { paths } = JSON.parse(readFileSync(`docs/api/${program}.openapi.json`, 'utf8')) as {
    paths: Record<string, Record<string, { summary: string }>>
  }
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, { summary }]): [string, string] => [`${method} ${path}`, summary]),
  )
}

// Mutants: 'One service.' as the summary of a route; a second sentence behind one.
for (const program of ['daemon', 'management'])
  test(`every summary of the ${program}’s document is one plain imperative sentence`, () => {
    const all = summaries(program)
    assert.ok(all.length > 60)
    assert.deepEqual(
      all.filter(([, summary]) => !isPlain(summary)),
      [],
    )
  })

test('a noun, another form of the verb, a question, a second sentence and an aside are no plain summary', () => {
  for (const summary of [
    'One service.',
    'The services of the organization.',
    'Lists API keys.',
    'Is the process alive?',
    'Write a slot. Over capacity another one leaves.',
    'Write a slot; over capacity another one leaves.',
    'Write a slot: over capacity another one leaves.',
    'Write a slot',
    `Write a slot ${'and another '.repeat(10)}.`,
  ])
    assert.ok(!isPlain(summary), summary)
  for (const summary of ['Write a slot.', 'Check the store by writing, committing and reading back a probe.'])
    assert.ok(isPlain(summary), summary)
})

/** How the shell of `npm run dev` uses each of its variables: what a line of /docs may do with a name that it has. */
const USES: Record<keyof typeof SHELL, RegExp> = {
  M: /"\$M(?=[/"])/g,
  D: /"\$D(?=[/"])/g,
  J: /-H "\$J"/g,
  KEY: /-H "\$KEY"/g,
  CAP: /-H "\$CAP"/g,
  ADMIN: /-H "\$ADMIN"/g,
  TENANT: /\/tenants\/\$TENANT\b/g,
}

// Mutants: a parameter of a path named after itself alone (`$KEY` of an entry); `$URL` as the address of a daemon.
for (const [program, address] of [
  ['daemon', 'D'],
  ['management', 'M'],
] as const)
  test(`a line of the ${program}’s /docs means by each variable what the shell of npm run dev means by it`, () => {
    const { html } = docsPage(JSON.parse(readFileSync(`docs/api/${program}.openapi.json`, 'utf8')))
    const lines = [...html.matchAll(/<pre[^>]*>(curl [\s\S]*?)<\/pre>/g)].map(([, line]) =>
      String(line).replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code))),
    )
    assert.ok(lines.length > 60)
    for (const line of lines) {
      assert.ok(line.includes(`"$${address}/`), line)
      // What stands in single quotes is text.
      const open = line.replace(/'(?:[^']|'\\'')*'/g, '')
      for (const name of Object.keys(SHELL) as (keyof typeof SHELL)[]) {
        const used = open.match(new RegExp(`\\$${name}\\b`, 'g')) ?? []
        assert.equal((open.match(USES[name]) ?? []).length, used.length, `$${name} in ${line}`)
      }
    }
  })
