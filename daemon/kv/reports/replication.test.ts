import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { PATIENT } from '@loci/postgres/testing/database.ts'
import { startThrowaway } from '@loci/postgres/testing/throwaway.ts'
import { listReplication } from './store.ts'

// Mutant: `application_name as name` in listReplication().
test('tenants are told of standbys and how far they are, not of their hosts', async () => {
  await using postgres = await startThrowaway()
  const directory = mkdtempSync(join(tmpdir(), 'loci-replication-'))
  const receiver = spawn(
    join(postgres.binDirectory, 'pg_receivewal'),
    [
      '-D',
      directory,
      '-d',
      `host=${postgres.socketDirectory} port=${postgres.port} user=postgres application_name=db2.internal`,
    ],
    { stdio: 'ignore' },
  )
  const pool = openPool({
    ...PATIENT,
    url: postgres.adminUrl(),
    applicationName: 'test',
    connectionsMax: 1,
    onError: () => {},
  })
  try {
    const [standby, ...more] = await eventually(async () => {
      const found = await listReplication(pool)
      return found[0]?.state === 'streaming' ? found : undefined
    })
    assert.deepEqual([standby?.name, standby?.state, standby?.sync, more], ['standby 1', 'streaming', 'async', []])
  } finally {
    receiver.kill()
    await pool.close()
    rmSync(directory, { recursive: true, force: true })
  }
})
