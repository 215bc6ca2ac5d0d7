import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ageJobs } from './ages.ts'
import { createMetrics } from './metrics.ts'
import { selfSigned } from './testing/certificate.ts'

// Mutants: the last certificate of a chain in place of the first that ends; a metric where there is no certificate; the
// age of a key that stays what it was when it was read.
test('what ends is told in seconds: of a chain whoever ends first, and nothing of what is not there', async () => {
  const [soon, later] = [selfSigned('127.0.0.1', 3), selfSigned('127.0.0.1', 300)]
  const metrics = createMetrics({ version: '0.0.0-test' })
  let ageS: number | undefined
  const settings = { tlsCert: later.cert + soon.cert + later.cert, databaseCa: undefined }
  const [job] = ageJobs({ metrics, settings, readKeyAgeS: async () => ageS })
  const metric = async (name: string) => new RegExp(`^${name} (\\S+)$`, 'm').exec(await metrics.registry.metrics())?.[1]

  const days = Number(await metric('loci_certificate_remaining_seconds')) / 86_400
  assert.ok(days > 2.9 && days <= 3, `${days} days`)
  assert.equal(await metric('loci_database_ca_remaining_seconds'), undefined)

  assert.equal(await metric('loci_sealing_key_age_seconds'), '0')
  ageS = 1_000
  await job?.run(new AbortController().signal)
  const first = Number(await metric('loci_sealing_key_age_seconds'))
  assert.ok(first >= 1_000, `${first}`)
  while (Number(await metric('loci_sealing_key_age_seconds')) === first) await new Promise((done) => setImmediate(done))
})
