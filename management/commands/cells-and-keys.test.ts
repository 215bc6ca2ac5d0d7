// Commands about cells, signing keys, organizations and their API keys.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newKeyPair } from '@loci/capability/jws.ts'
import { inside, run, settings } from '../testing/commands.ts'
import { testManagement } from '../testing/management.ts'

test('cells: what can not work is refused with the setting that is wrong, and a cell is listed, given another key and removed', async () => {
  await using management = await testManagement({ settings: { regions: ['us-east-1', 'eu-west-1'] } })
  const env = {
    ...settings(management.database.appUrl),
    LOCI_SEALING_KEYS: management.settings.sealingKeys
      .map(({ id, key }) => `${id}:${key.toString('base64')}`)
      .join(','),
    LOCI_REGIONS: 'us-east-1,eu-west-1',
  }
  const keys = [newKeyPair(), newKeyPair()].map(({ publicJwk }) => publicJwk.x) as [string, string]
  const add = (name: string, change: Record<string, string> = {}) => {
    const options = {
      region: 'us-east-1',
      capacity: '10',
      endpoint: 'https://cell.example',
      'public-key': keys[0],
      ...change,
    }
    return run(
      env,
      'cells',
      'add',
      '--name',
      name,
      ...Object.entries(options).map(([key, value]) => `--${key}=${value}`),
    )
  }
  const [first, ...refused] = [
    await add('one'),
    ...(await Promise.all([
      add('two', { 'public-key': keys[1], region: 'us-west-9' }),
      add('two', { 'public-key': keys[1], endpoint: 'http://cell.example' }),
      add('two'),
    ])),
  ]
  assert.equal(first?.code, 0, first?.stderr)
  const { cell_id: id } = JSON.parse(first.stdout)
  assert.deepEqual(
    refused.map(({ code }) => code),
    [64, 64, 1],
  )
  const [region, plain, taken] = refused.map(({ stderr }) => stderr)
  assert.match(String(region), /'us-west-9' is not in LOCI_REGIONS \(us-east-1, eu-west-1\)/)
  assert.match(String(plain), /must be https.*loopback only/)
  assert.match(String(taken), /is that of the cell 'one'.*daemon cell-key/)

  const listed = JSON.parse((await inside(env, 'cells', 'list')).stdout).cells
  assert.deepEqual(
    listed.map((cell: Record<string, unknown>) => [cell.cell_id, cell.name, cell.placed, cell.heard_at, cell.alarm]),
    [[id, 'one', 0, null, null]],
  )
  const changed = await inside(env, 'cells', 'keys', '--cell', 'one', '--public-key', `${keys[0]},${keys[1]}`)
  assert.deepEqual(JSON.parse(changed.stdout), { cell_id: id, name: 'one', public_keys: keys })

  // A cell that held a service which is deleted by now is empty; one that holds a service is not.
  const service = await management.instance(id)
  const full = await inside(env, 'cells', 'remove', '--cell', 'one')
  assert.deepEqual([full.code, full.stdout], [1, ''])
  assert.match(full.stderr, /1 services are in the cell 'one': delete them first/)
  await management.sql(`update loci.services set status = 'deleted', deleted_at = now() where id = $1`, [service.id])
  const removed = await inside(env, 'cells', 'remove', '--cell', id)
  assert.equal(removed.code, 0, removed.stderr)
  assert.deepEqual(JSON.parse(removed.stdout), { removed: true, cell_id: id, name: 'one' })
  assert.deepEqual(await management.sql('select cell_id from loci.services where id = $1', [service.id]), [
    { cell_id: null },
  ])
  assert.deepEqual(await management.sql('select 1 from loci.feed_items where cell_id = $1', [id]), [])
  const gone = await inside(env, 'cells', 'remove', '--cell', 'one')
  assert.equal(gone.code, 1)
  assert.match(gone.stderr, /There is no cell 'one'/)
  const acts = await management.sql(`select action from loci.audit where subject = $1 order by seq`, [id])
  assert.deepEqual(
    acts.map(({ action }) => action),
    ['cell.add', 'cell.change', 'cell.remove'],
  )
})

test('a signing key that leaked is removed at once; the one that signs must be rotated first', async () => {
  await using management = await testManagement()
  const { sealingKeys } = management.settings
  const env = {
    ...settings(management.database.appUrl),
    LOCI_SEALING_KEYS: sealingKeys.map(({ id, key }) => `${id}:${key.toString('base64')}`).join(','),
  }
  const cell = await management.cell()
  const [leaked] = await management.sql<{ kid: string }>(`select kid from loci.signing_keys where state = 'active'`)
  const kid = leaked?.kid as string
  const remove = (key: string) => inside(env, 'keys', 'remove', '--kid', key)
  const early = await remove(kid)
  assert.equal(early.code, 1)
  assert.match(early.stderr, /rotate first \(management keys rotate\)/)
  assert.match((await remove('k_nobody')).stderr, /There is no key k_nobody/)

  await inside(env, 'keys', 'rotate')
  await management.sql(`update loci.signing_keys set created_at = created_at - interval '1 minute'`)
  const removed = await remove(kid)
  assert.equal(removed.code, 0, removed.stderr)
  assert.equal(JSON.parse(removed.stdout).state, 'removed')
  const item = (await cell.pull()).items.find(({ kind, key }) => kind === 'key' && key === kid)
  assert.equal((item?.body as { state?: string } | undefined)?.state, 'removed')
  assert.match((await remove(kid)).stderr, /removed already/)
})

test('organizations and their API keys are listed, without a secret', async () => {
  await using management = await testManagement()
  const [sealing] = management.settings.sealingKeys
  const env = {
    ...settings(management.database.appUrl),
    LOCI_SEALING_KEYS: `${sealing?.id}:${sealing?.key.toString('base64')}`,
  }
  const first = await management.organization({ name: 'First' })
  const second = await management.organization({ name: 'Second' })
  const { organizations } = JSON.parse((await inside(env, 'organizations', 'list')).stdout)
  assert.deepEqual(
    organizations.map((one: { organization_id: string; name: string }) => [one.organization_id, one.name]),
    [
      [second.organizationId, 'Second'],
      [first.organizationId, 'First'],
    ],
  )
  const { stdout, stderr } = await inside(env, 'api-keys', 'list', '--org', 'First')
  assert.equal(stderr, '')
  const listed = JSON.parse(stdout)
  assert.deepEqual([listed.organization_id, listed.api_keys.length], [first.organizationId, 1])
  assert.ok(first.apiKey.includes(listed.api_keys[0].id.slice(4)))
  assert.ok(!stdout.includes(first.apiKey) && !/digest|pepper/.test(stdout))
})
