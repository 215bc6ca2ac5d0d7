// The health check of the image, against servers of the chassis with TLS in each way that a deployment has it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { addressSet } from '@loci/chassis/addresses.ts'
import { open } from '@loci/chassis/probes.ts'
import { route } from '@loci/chassis/route.ts'
import { selfSigned } from '@loci/chassis/testing/certificate.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'

const CHECK = path.resolve(import.meta.dirname, '../../deploy/image/loci-health')
const ready = route(
  {
    method: 'GET',
    path: '/health/ready',
    access: open,
    tag: 'health',
    summary: 'Says that it is ready.',
    answers: { 200: { contentType: 'text/plain', description: 'It is.' } },
  },
  () => 'ready',
)

// Mutants: loci-health asks by http alone; without its header; or believes every answer.
test('the health check of the image sees a program behind TLS of its own, or of a proxy, and tells what is not ready', async () => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-health-'))
  const first = path.join(place, 'cmdline')
  writeFileSync(first, 'tini\0--\0loci-daemon\0')
  const check = (url: string, env: Record<string, string> = {}) =>
    new Promise<[code: unknown, said: string]>((resolve) => {
      const given = { env: { LOCI_LISTEN: new URL(url).host, ...env } }
      execFile(process.execPath, [CHECK, first], given, (error, _, stderr) => resolve([error?.code ?? 0, stderr]))
    })
  try {
    await using own = await testHttpServer([ready], { requireHttps: true, tls: selfSigned() })
    await using proxied = await testHttpServer([ready], {
      requireHttps: true,
      trustedProxies: addressSet(['10.0.0.1', '127.0.0.1']),
    })
    await using strict = await testHttpServer([ready], { requireHttps: true, trustedProxies: addressSet(['10.0.0.1']) })
    await using plain = await testHttpServer([ready])
    await using other = await testHttpServer([])

    assert.deepEqual(await check(own.url, { LOCI_TLS_CERT_FILE: 'cert.pem' }), [0, ''])
    assert.deepEqual(await check(proxied.url), [0, ''])
    assert.deepEqual(await check(plain.url), [0, ''])
    const refused = [await check(strict.url), await check(other.url), await check(own.url)]
    assert.deepEqual(
      refused.map(([code]) => code),
      [1, 1, 1],
    )
    assert.match(refused[0]?.[1] ?? '', /403: name 127\.0\.0\.1 in LOCI_TRUSTED_PROXIES too/)

    // Its own option wins over the variable, as in the program.
    writeFileSync(first, `loci-management\0--listen\0${new URL(plain.url).host}\0`)
    assert.deepEqual(await check(other.url), [0, ''])
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})
