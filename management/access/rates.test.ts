import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLANS } from '../plans.ts'
import { testManagement } from '../test-management.ts'
import { createRates } from './rates.ts'

const SECRETS = { billingWebhookSecrets: ['a-secret-of-the-provider'] }

test('keys of one organization share five times what one may ask; another organization has its own', async () => {
  // All of them are let in: what is refused here is refused for its rate.
  await using management = await testManagement({ settings: { ...SECRETS, queueMax: 500, queueMs: 5_000 } })
  const own = await management.organization({ callsOf: 'free' })
  const other = await management.organization({ callsOf: 'free' })
  const keys = [own]
  for (let i = 0; i < 7; i += 1) keys.push(await management.member(own, 'owner'))
  const list = (one: typeof own) => one.ask('GET /api/v1/tenants')
  const { read, read_burst: burst } = PLANS.free.management_per_minute
  const startedAt = Date.now()

  const answers = await Promise.all(keys.flatMap((one) => Array.from({ length: burst }, () => list(one))))

  const granted = answers.filter(({ status }) => status === 200)
  const refused = answers.filter(({ status }) => status === 429)
  const filled = Math.ceil(((Date.now() - startedAt) / 60_000) * read * 5)
  assert.ok(granted.length >= 5 * burst && granted.length <= 5 * burst + filled, `${granted.length} granted`)
  assert.equal(granted.length + refused.length, answers.length)
  for (const { error, headers } of refused) {
    assert.equal(error.code, 'RATE_LIMITED')
    assert.match(error.message, /All callers of the organization together/)
    assert.ok(Number(headers['retry-after']) >= 1)
    assert.match(String(headers['ratelimit-policy']), /q=60;w=60;burst=20/)
  }
  assert.equal((await list(other)).status, 200)
})

test('who is refused for itself uses nothing of the others, and who is refused for the others nothing of itself', async () => {
  await using management = await testManagement({ settings: SECRETS })
  const own = await management.organization({ callsOf: 'free' })
  const tatOf = async (like: string) => {
    const [row] = await management.sql<{ tat: number }>('select tat from loci.rate_limits where bucket like $1', [like])
    return row?.tat ?? 0
  }
  const list = async () => (await own.ask('GET /api/v1/tenants')).status
  const later = Date.now() + 3_600_000
  assert.equal(await list(), 200)
  await management.sql(`update loci.rate_limits set tat = $1 where bucket like '%:key_%:read:%'`, [later])
  const shared = await tatOf('%:all:read:%')
  assert.equal(await list(), 429)
  assert.equal(await tatOf('%:all:read:%'), shared)
  await management.sql(`update loci.rate_limits set tat = case when bucket like '%:all:%' then $1::float8 else 0 end`, [
    later,
  ])
  assert.equal(await list(), 429)
  assert.ok((await tatOf('%:key_%:read:%')) <= Date.now())
})

test('while the store does not answer each process limits caller and organization for itself', async () => {
  const rates = createRates(
    () => Promise.reject(new Error('no store')),
    () => 0,
  )
  const answer = { header: () => {} } as unknown as Parameters<typeof rates.take>[2]
  const granted = async (id: string) => {
    for (let i = 0; ; i += 1) {
      const caller = { id, organizationId: 'org', plan: 'free' as const }
      if (
        !(await rates.take(caller, 'read', answer).then(
          () => true,
          () => false,
        ))
      )
        return i
    }
  }
  const all: number[] = []
  for (let i = 0; i < 7; i += 1) all.push(await granted(`key_${i}`))
  assert.deepEqual(all, [20, 20, 20, 20, 20, 0, 0])
})
