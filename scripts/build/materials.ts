// The bill of materials of both programs, the command line and the console, from the lockfile by npm itself: every
// package with its digest. The client for Python and the adapters have theirs in their own metadata.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'

const WORKSPACES = ['daemon', 'management', 'console', 'cli']

/** CycloneDX, the same for two builds of a commit: npm puts the time and a random number into it. */
export function billOfMaterials(top: string): string {
  const of = WORKSPACES.flatMap((name) => ['-w', name])
  const args = ['sbom', '--silent', '--package-lock-only', '--sbom-format=cyclonedx', '--omit=dev', ...of]
  const bill = JSON.parse(execFileSync('npm', args, { cwd: top, encoding: 'utf8' })) as {
    serialNumber: string
    metadata: { timestamp?: string; component: { name: string } }
  }
  delete bill.metadata.timestamp
  // npm takes the name of the folder.
  bill.metadata.component.name = 'loci'
  bill.serialNumber = ''
  const digest = createHash('sha256').update(JSON.stringify(bill)).digest('hex')
  // The form of a UUID of a version that is anybody's own (RFC 9562, 8).
  const parts = [digest.slice(0, 8), digest.slice(8, 12), `8${digest.slice(13, 16)}`, `a${digest.slice(17, 20)}`]
  bill.serialNumber = `urn:uuid:${[...parts, digest.slice(20, 32)].join('-')}`
  return `${JSON.stringify(bill, undefined, 2)}\n`
}
