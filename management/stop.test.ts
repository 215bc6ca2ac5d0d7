import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { newKeyPair, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { testDatabase } from '@loci/postgres/testing/database.ts'
import { transaction } from '@loci/postgres/transaction.ts'
import { addCell } from './cells/cells.ts'
import { SCHEMA } from './schema.ts'

test('a process that is told to stop answers the polls that wait and ends without cutting one', async () => {
  await using database = await testDatabase({ schema: SCHEMA, program: 'management' })
  const { publicJwk, privateJwk } = newKeyPair()
  const pool = openPool({ url: database.appUrl, applicationName: 'test', connectionsMax: 1, onError: () => {} })
  const place = { name: 'one', region: 'r', capacity: 1, endpoint: 'http://127.0.0.1:1', tenantId: null }
  const cell = await transaction(pool, (sql) =>
    addCell(sql, { ...place, publicKeys: [publicJwk.x] }, { actor: 'test' }),
  )
  await pool.close()
  const aud = 'http://127.0.0.1:4400'
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], {
    env: {
      PATH: process.env.PATH ?? '',
      LOCI_LISTEN: '127.0.0.1:0',
      LOCI_DATABASE_URL: database.appUrl,
      LOCI_PUBLIC_URL: aud,
      LOCI_SEALING_KEYS: `a:${randomBytes(32).toString('base64')}`,
      LOCI_DRAIN_GRACE_MS: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve))
  try {
    const url = await listening(child.stdout)
    await untilReady(url)
    const feed = async (query: string) => {
      const now = Math.floor(Date.now() / 1000)
      const claims = { iss: cell.id, aud, iat: now, exp: now + 60, jti: randomUUID() }
      const token = signJws({ alg: 'EdDSA', typ: 'loci-cell+jwt' }, claims, privateKeyOf(privateJwk))
      const answer = await fetch(`${url}/cell/v1/feed?${query}`, { headers: { authorization: `Bearer ${token}` } })
      return { status: answer.status, body: (await answer.json()) as { epoch: string; next: number; items: unknown[] } }
    }
    const { epoch, next } = (await feed('')).body
    const waiting = feed(`epoch=${epoch}&after=${next}&wait=20`)
    await untilInside(url, 2)
    const toldAt = performance.now()

    child.kill('SIGTERM')

    const answer = await waiting
    assert.deepEqual([answer.status, answer.body.items], [200, []])
    assert.equal(await exited, 0)
    assert.ok(performance.now() - toldAt < 18_000, 'before its wait was over')
  } finally {
    child.kill('SIGKILL')
  }
})

function listening(stdout: NodeJS.ReadableStream): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    stdout.setEncoding('utf8').on('data', (part: string) => {
      text += part
      const url = /"url":"([^"]+)".*"message":"listening"/.exec(text)?.[1]
      if (url) resolve(url)
    })
  })
}

/** The request that asks is one of them. */
async function untilInside(url: string, requests: number): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${url}/health/lifecycle`)
    return ((await answer.json()) as { drain: { in_flight: number } }).drain.in_flight >= requests
  })
}

async function untilReady(url: string): Promise<void> {
  for (;;) {
    const answer = await fetch(`${url}/health/ready`)
    if (answer.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
