import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configReport, loadConfig } from '@loci/chassis/config.ts'
import type { Setting } from '@loci/chassis/settings.ts'
import { SETTING_NAMES } from '@loci/contract/setting-names.ts'
import { REGISTRY } from './settings.ts'

const SETTINGS = REGISTRY.settings

function refuses(setting: Setting<unknown>, texts: string[], reason: RegExp): void {
  for (const text of texts) assert.throws(() => setting.parse(text), reason, `${setting.env}=${text}`)
}

test('every setting has a name of its own that all programs know, and its default passes its own check', () => {
  const all = Object.values<Setting<unknown>>(SETTINGS)
  assert.equal(new Set(all.map(({ env }) => env)).size, all.length)
  for (const { env, doc, fallback, parse } of all) {
    assert.match(env, /^LOCI_[A-Z]+(_[A-Z]+)*$/)
    assert.ok(doc.length > 10, env)
    if (fallback !== undefined) parse(fallback)
    assert.ok((SETTING_NAMES as readonly string[]).includes(env), `${env} is in libs/contract/setting-names.ts`)
  }
})

test('the public URL is an origin', () => {
  refuses(
    SETTINGS.publicUrl,
    ['', 'loci.example', 'ftp://a', 'https://u:p@a', 'https://a/x', 'https://a/?q', 'https://a/#f'],
    /origin/,
  )
})

test('an address of staff has ASCII alone', () => {
  assert.deepEqual(SETTINGS.staffEmails.parse('Kate@example.com'), ['kate@example.com'])
  refuses(SETTINGS.staffEmails, ['\u212aate@example.com', 'kate@ex\u0430mple.com'], /is not an e-mail address/)
})

test('a secret that is not set is shown as not set, and a setting of the daemon is no mistake', () => {
  const config = loadConfig({
    ...REGISTRY,
    argv: [],
    env: { LOCI_DATABASE_URL: 'postgres://a@127.0.0.1/b', LOCI_CELL_ID: 'cell_x', LOCI_SEALING_KEYS: '' },
  })
  for (const name of ['LOCI_BILLING_WEBHOOK_SECRETS', 'LOCI_GATEWAY_SECRETS'])
    assert.match(configReport(config), new RegExp(`${name} +- {2}\\(`))
  assert.doesNotMatch(config.problems.join(), /LOCI_CELL_ID/)
})
