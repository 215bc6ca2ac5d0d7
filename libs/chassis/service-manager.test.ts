import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { createLifecycle } from './lifecycle.ts'
import { serviceManagerOf, tellServiceManager } from './service-manager.ts'
import { eventually } from './testing/request.ts'

test('nobody is told where nobody asked, and the watchdog of another process is not ours', () => {
  assert.equal(serviceManagerOf({}), undefined)
  const env = { NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '60000000' }
  assert.deepEqual(serviceManagerOf(env), { socket: '/run/x', watchdogMs: 60_000 })
  assert.equal(serviceManagerOf({ ...env, WATCHDOG_PID: '1' })?.watchdogMs, undefined)
  assert.equal(serviceManagerOf({ ...env, WATCHDOG_PID: `${process.pid}` })?.watchdogMs, 60_000)
})

/** systemd's end: datagrams; the last of each sender brings a pipe that is closed when the others were read. */
const LISTEN = `
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True:
    text, parts, *_ = s.recvmsg(4096, 1024)
    for _, _, data in parts:
        for fd in array.array('i', data[:len(data) // 4 * 4]): os.close(fd)
    print(text.decode().replace('\\n', ' '), flush=True)
`
const HERE = ['systemd-notify', 'python3'].every((name) => spawnSync(name, ['--version']).status === 0)

// Mutants: READY=1 with every move; STATUS alone when it drains; a watchdog that is told once.
test('systemd is told once that the program listens, then what it does, and that it ends; its watchdog again and again', {
  skip: !HERE && 'no systemd-notify or no python3',
}, async () => {
  const place = mkdtempSync(join(tmpdir(), 'loci-notify-'))
  const socket = join(place, 'notify')
  const listener = spawn('python3', ['-c', LISTEN, socket], { stdio: ['ignore', 'pipe', 'inherit'] })
  const heard: string[] = []
  listener.stdout.setEncoding('utf8').on('data', (text: string) => heard.push(...text.trim().split('\n')))
  try {
    await eventually(() => heard.includes('bound'))
    const lifecycle = createLifecycle()
    const said = async (words: string) => {
      await eventually(() => heard.some((line) => line.includes(words)))
      return heard.find((line) => line.includes(words))
    }
    const watchdog = () => heard.filter((line) => line.includes('WATCHDOG=1')).length
    const log = { warn: (_: object, message: string) => heard.push(`warned: ${message}`) }
    const told = tellServiceManager({ socket, watchdogMs: 300 }, lifecycle, log)
    lifecycle.move('migrating', 'waiting for the database')
    assert.equal(await said('migrating'), 'READY=1 STATUS=migrating: waiting for the database')
    lifecycle.move('warming', 'reading')
    assert.equal(await said('warming'), 'STATUS=warming: reading')
    await eventually(() => watchdog() >= 3)
    lifecycle.beginDrain('SIGTERM', { graceMs: 0, deadlineMs: 10 })
    assert.match((await said('STOPPING')) ?? '', /^STOPPING=1 STATUS=draining: /)
    told.stop()
    assert.deepEqual(
      heard.filter((line) => line.startsWith('warned')),
      [],
    )
  } finally {
    listener.kill()
    await once(listener, 'exit')
    rmSync(place, { recursive: true, force: true })
  }
})
