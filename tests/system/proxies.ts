// loci behind nginx and Caddy, with the files of deploy/proxies: requests, bodies and long headers pass whole, a stream
// is handed on line by line, who asks stays who asks, and what arrived without TLS is refused. Not in CI: it needs both
// programs. A name among the arguments runs that proxy alone.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  CHECKS,
  type Outcome,
  type Passing,
  type Secrets,
  seenAtOnce,
  untilServed,
} from '../robustness/proxies/passing.ts'
import { type Edit, type Given, NAMES, PROXIES, versionOf } from '../robustness/proxies/proxies.ts'
import { newCertificate } from '../robustness/signin/front.ts'
import { type LociProcess, startProgram } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization, addTenant } from '../world/tenants.ts'
import { startWorld } from '../world/world.ts'
import { PEOPLE } from '../world/world-file.ts'

const asked = process.argv.slice(2).filter((arg) => !arg.startsWith('-'))
const BEHIND_A_PROXY = {
  LOCI_TRUSTED_PROXIES: '127.0.0.1',
  LOCI_REQUIRE_HTTPS: 'true',
  LOCI_ADMIN_ALLOWLIST: '127.0.0.3',
}
/** A mistake that a person makes in the configuration, and the check that must find it. */
const MUTANTS: Record<string, { what: string; edit: [string, string]; check: string }[]> = {
  nginx: [
    {
      what: 'nginx holds streams back',
      edit: [
        'proxy_buffering off;',
        'proxy_buffering on; proxy_ignore_headers X-Accel-Buffering; gzip on; gzip_types *;',
      ],
      check: 'stream',
    },
    {
      what: 'nginx believes what a client says of its address',
      edit: ['X-Forwarded-For $remote_addr;', 'X-Forwarded-For $http_x_forwarded_for;'],
      check: 'address',
    },
    {
      what: 'nginx does not say that TLS was spoken',
      edit: ['proxy_set_header X-Forwarded-Proto $scheme;', ''],
      check: 'tls',
    },
    {
      what: 'nginx with its own bounds of headers',
      edit: ['large_client_header_buffers 8 16k;', ''],
      check: 'headers',
    },
  ],
  caddy: [
    {
      what: 'Caddy believes what a client says of its address',
      edit: [
        'reverse_proxy 127.0.0.1:4410 {',
        'reverse_proxy 127.0.0.1:4410 {\n\t\theader_up X-Forwarded-For {header.X-Forwarded-For}',
      ],
      check: 'address',
    },
  ],
}

await reportOn(async (report) => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-proxies-'))
  const world = await startWorld({ replicas: 1, people: PEOPLE })
  const stops: LociProcess[] = []
  try {
    const { apiKey } = await addOrganization(world, 'behind')
    const tenant = await addTenant(world, { name: 'acme', plan: 'enterprise' })
    // Started alone: without TLS even their probes are refused, so nobody but a proxy sees when they are ready.
    const daemon = await startProgram('daemon', world.daemonSettings(BEHIND_A_PROXY))
    const management = await startProgram('management', {
      ...world.managementSettings(BEHIND_A_PROXY),
      LOCI_LISTEN: '127.0.0.1:0',
    })
    stops.push(daemon, management)
    const given = {
      place,
      behind: { management: management.url, cell: daemon.url },
      certificate: keepCertificate(place),
    }
    for (const [name, { program }] of Object.entries(PROXIES)) {
      if (asked.length > 0 && !asked.includes(name)) continue
      const version = versionOf(program)
      if (version === undefined) report.skip(`behind ${name}`, `no ${program} is here`)
      else await check(report, { name, version, given, secrets: { apiKey, tenant, adminToken: world.adminToken } })
    }
  } finally {
    await Promise.all(stops.map((process) => process.stop()))
    await world.stop()
    rmSync(place, { recursive: true, force: true })
  }
})

interface Checked {
  name: string
  version: string
  given: Given
  secrets: Secrets
}

async function check(report: Report, { name, version, given, secrets }: Checked): Promise<void> {
  const during = async <Result>(edits: readonly Edit[], look: (passing: Passing) => Promise<Result>) => {
    const proxy = await (PROXIES[name] as (typeof PROXIES)[string]).start({ ...given, edits })
    try {
      const certificate = readFileSync(given.certificate.cert, 'utf8')
      const passing = { proxy, secrets, certificate, direct: given.behind.cell }
      // A proxy that does not say how it was reached is refused: the mutant shows it, and need not be waited for.
      if (edits.length === 0) await untilServed(passing)
      return await look(passing)
    } finally {
      await proxy.stop()
    }
  }
  await during([], async (passing) => {
    for (const { says, look } of Object.values(CHECKS)) {
      const [isKept, figure] = await look(passing).catch(broken)
      report.promise(`${name} ${version}: ${says}`, isKept, figure)
    }
  })
  for (const { what, edit, check } of MUTANTS[name] ?? []) {
    const look = check === 'stream' ? seenAtOnce : (CHECKS[check] as (typeof CHECKS)[string]).look
    const [isKept, figure] = await during([edit], (passing) => look(passing).catch(broken))
    report.mutant(what, isKept ? undefined : figure)
  }
}

function broken(error: Error): Outcome {
  return [false, error.message]
}

function keepCertificate(place: string): Given['certificate'] {
  const [cert, key] = [path.join(place, 'cert.pem'), path.join(place, 'key.pem')]
  const made = newCertificate(Object.values(NAMES))
  writeFileSync(cert, made.cert)
  writeFileSync(key, made.key, { mode: 0o600 })
  return { cert, key }
}
