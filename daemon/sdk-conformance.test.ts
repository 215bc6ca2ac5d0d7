// The server, held to the file that its stand-in for users' tests is held to.

import { after, before } from 'node:test'
import { OPERATION_NAMES } from '@loci/contract/operations.ts'
import { Loci } from '@loci/sdk/loci.ts'
import { conformanceSuite } from '@loci/sdk/testing/conformance.ts'
import { type TestDaemon, testDaemon } from './testing/daemon.ts'
import { addTenant } from './testing/tenant.ts'

const EVERYTHING = { ops: [...OPERATION_NAMES], ks: ['*/*'] }

let daemon: TestDaemon
before(async () => {
  daemon = await testDaemon()
})
after(() => daemon[Symbol.asyncDispose]())

conformanceSuite('the server', async () => {
  const tenant = await addTenant(daemon)
  return new Loci({ url: daemon.url, token: tenant.mint(EVERYTHING) }).service()
})
