import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { readSecretToken } from '@loci/contract/secret-token.ts'
import { ACTOR, testManagement } from '../../testing/management.ts'
import { mintPartnerCredential, revokePartnerCredential } from './partner-credentials.ts'

test('a partner credential is shown once, kept as a digest, and told to the cell of its instance', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const request = { name: 'crm', database: 'default', projectionClasses: ['event'], routes: ['projections'] }

  const { credential, token } = await management.within(service, (sql) =>
    mintPartnerCredential(sql, service, request, ACTOR),
  )

  assert.match(token, /^loci_ptr_[0-9a-z]{26}_[\w-]{43}[0-9a-f]{8}$/)
  assert.equal(`ptr_${readSecretToken('ptr', token)}`, credential.id)
  const { items } = await cell.pull()
  assert.deepEqual(items.at(-1)?.body, {
    id: credential.id,
    partner: credential.id,
    svc: service.id,
    org: service.organizationId,
    ten: service.tenantId,
    database: 'default',
    projection_classes: ['event'],
    routes: ['projections'],
    digest: createHash('sha256').update(token).digest('hex'),
    state: 'active',
    expires_at: null,
  })
  const secret = token.slice('loci_ptr_'.length + 27, -8)
  const stored = await management.sql<{ text: string }>(`select t::text as text from loci.partner_credentials t
    union all select t::text from loci.feed_items t union all select t::text from loci.audit t`)
  for (const { text } of stored) assert.ok(!text.includes(secret))
})

test('a revoked partner credential is told as revoked; one of another organization cannot be named', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  const other = await management.instance(cell.id, { organization: 'Other' })
  const request = { name: 'crm', database: 'default' }
  const { credential } = await management.within(service, (sql) => mintPartnerCredential(sql, service, request, ACTOR))

  await assert.rejects(
    management.within(other, (sql) => revokePartnerCredential(sql, other, credential.id, ACTOR)),
    { code: 'NOT_FOUND' },
  )
  await management.within(service, (sql) => revokePartnerCredential(sql, service, credential.id, ACTOR))

  const told = (await cell.pull()).items.filter(({ kind }) => kind === 'partner_credential')
  assert.deepEqual(
    told.map(({ body }) => (body as { state: string }).state),
    ['revoked'],
  )
})

test('a partner credential for what does not exist is refused', async () => {
  await using management = await testManagement()
  const cell = await management.cell()
  const service = await management.instance(cell.id)
  for (const change of [
    { database: '*' },
    { projectionClasses: ['gossip'] },
    { routes: [] },
    { routes: ['admin'] },
    { name: '' },
    { partner: '' },
    { partner: 'holder:ada' },
    { expiresAt: new Date(0) },
  ]) {
    const request = { name: 'crm', database: 'default', ...change }
    await assert.rejects(
      management.within(service, (sql) => mintPartnerCredential(sql, service, request, ACTOR)),
      { code: 'VALIDATION_ERROR' },
      JSON.stringify(change),
    )
  }
})
