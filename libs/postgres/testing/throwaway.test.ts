import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { auditDatabase } from '../durability.ts'
import { openPool } from '../pool.ts'
import { startThrowaway } from './throwaway.ts'

test('a committed row survives the crash of every process, through socket and TCP', async () => {
  await using server = await startThrowaway({ settings: { max_connections: '40', fsync: 'off' }, dataChecksums: false })
  const run = (text: string, url = server.adminUrl()) => {
    const pool = openPool({ url, applicationName: 'throwaway-test', connectionsMax: 1, onError: () => {} })
    return pool.query({ text }).finally(() => pool.close())
  }
  await run('create table kept (id int)')
  await run('insert into kept values (7)')
  const pid = server.pid()

  await server.crash()
  await assert.rejects(run('select 1'))
  assert.throws(() => server.pid(), /start\(\) it first/)
  await server.start()

  assert.notEqual(server.pid(), pid)
  assert.deepEqual((await run('select id from kept', server.url('postgres', 'postgres', 'tcp'))).rows, [{ id: 7 }])

  const pool = openPool({ url: server.adminUrl(), applicationName: 't', connectionsMax: 1, onError: () => {} })
  const audit = await auditDatabase(pool, 'daemon')
  await pool.close()
  assert.match(audit.problems.join('\n'), /fsync is off: set it to on/)
  assert.deepEqual(
    audit.warnings.map((warning) => warning.replace(/:.*/, '')),
    ['data_checksums is off', 'max_connections is 40'],
  )

  await server.stop()
  await assert.rejects(run('select 1'))
})

test('a process that ends takes its server with it', () => {
  const program = `
    import { startThrowaway } from ${JSON.stringify(join(import.meta.dirname, 'throwaway.ts'))}
    const server = await startThrowaway()
    console.log(JSON.stringify([server.directory, server.pid()]))
    process.kill(process.pid, 'SIGTERM')
    setInterval(() => {}, 1000)`
  let output = ''
  try {
    execFileSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
    assert.fail('it should have died of the signal')
  } catch (error) {
    const died = error as { signal?: string; stdout?: string }
    assert.equal(died.signal, 'SIGTERM')
    output = died.stdout ?? ''
  }
  const [directory, pid] = JSON.parse(output) as [string, number]
  assert.equal(existsSync(directory), false)
  const states = execFileSync('ps', ['-A', '-o', 'pid=,stat='], { encoding: 'utf8' })
  assert.doesNotMatch(states, new RegExp(`^\\s*${pid} [^Z]`, 'm'))
})
