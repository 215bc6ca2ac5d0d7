import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open } from '@loci/chassis/probes.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { testDaemon } from '../../testing/daemon.ts'
import { conductorRoutes } from './routes.ts'

test('until the cell knows capabilities, system info and the conductor refuse everyone', async () => {
  await using daemon = await testDaemon()
  for (const path of ['/v1/system/info', '/v1/conductor/endpoints']) {
    for (const headers of [{}, { 'x-loci-capability': 'anything' }, { 'x-loci-admin-token': daemon.adminToken }]) {
      const { status, error } = await daemon.get(path, headers)
      assert.deepEqual([status, error.code], [401, 'UNAUTHENTICATED'], path)
    }
  }
})

test('an admitted caller gets version, uptime and the digest of recall tables, and every path of the router, sorted and once', async () => {
  await using daemon = await testDaemon()
  const { routes } = daemon.daemon
  await using server = await testHttpServer(
    conductorRoutes({ systemRead: open, version: '1.2.3', meaning: 'abc', routes: () => routes }),
  )

  const info = (await server.ask('GET /v1/system/info')).json<{ uptime: number }>()
  const { endpoints, total } = (await server.ask('GET /v1/conductor/endpoints')).json<{
    endpoints: string[]
    total: number
  }>()

  const build = { version: '1.2.3', uptime: 0, build: 'release', product: 'loci', meaning: 'abc' }
  assert.deepEqual({ ...info, uptime: 0 }, build)
  assert.ok(info.uptime >= 0)
  assert.deepEqual(endpoints, [...new Set(routes.map(({ spec }) => spec.path))].sort())
  assert.equal(total, endpoints.length)
  assert.ok(endpoints.includes('/admin/services/status') && endpoints.includes('/v1/conductor/endpoints'))
})
