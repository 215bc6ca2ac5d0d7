// node scripts/conformance.ts [--only group,…] [--check id,…] [--slow] [--no-skips] [--suite PATH] [--provider NAME]:
// the conformance suite beside this checkout against a whole loci, with the sign-in provider of that name. Runs the
// groups that are built; its output, the list of what it skipped included, is the suite's own, and so is the exit code.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { startKeycloak } from '@loci/tests/world/keycloak.ts'
import { startOwnProvider } from '@loci/tests/world/sign-in-provider.ts'
import { startWorld, type World } from '@loci/tests/world/world.ts'
import { PEOPLE, writeWorldFile } from '@loci/tests/world/world-file.ts'

/** Groups of the suite whose routes exist. An issue that builds one adds it here. */
const BUILT = [
  ...['probes', 'information', 'admin', 'authority', 'kv', 'working-memory', 'memory', 'projections', 'mcp', 'events'],
  ...['cycles', 'advice'],
  ...['audit', 'openapi', 'limits'],
  ...['billing', 'tenants', 'api-keys', 'organizations', 'cells', 'operations', 'services', 'sessions'],
]

const PROVIDERS = { 'oidc-provider': startOwnProvider, keycloak: startKeycloak }

const top = path.dirname(import.meta.dirname)
const { values: options } = parseArgs({
  options: {
    suite: { type: 'string', default: path.join(top, '../shared/conformance/run.mjs') },
    only: { type: 'string', default: BUILT.join(',') },
    check: { type: 'string' },
    provider: { type: 'string', default: 'oidc-provider' },
    slow: { type: 'boolean', default: false },
    'no-skips': { type: 'boolean', default: false },
  },
})

const startProvider = PROVIDERS[options.provider as keyof typeof PROVIDERS]
if (!startProvider) {
  console.error(`--provider is one of ${Object.keys(PROVIDERS).join(', ')}`)
  process.exitCode = 64
} else if (existsSync(options.suite)) {
  process.exitCode = await runSuite()
} else {
  console.log('conformance skipped: the suite is not beside this checkout')
  console.log('0 passed, 0 failed')
}

async function runSuite(): Promise<number> {
  const directory = mkdtempSync(path.join(tmpdir(), 'loci-conformance-'))
  const file = path.join(directory, 'world.json')
  let world: World | undefined
  let suite: ChildProcess | undefined
  let stopped = false
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      stopped = true
      suite?.kill('SIGTERM')
    })
  }
  try {
    // The suite asks what is answered, not how fast: 60 reads at once took longer than the 300 ms for which a request
    // waits for a slot by default, on two cores with forty processes beside them, and four were told 503 OVERLOADED.
    const settings = { LOCI_QUEUE_MS: '2000' }
    world = await startWorld({ isBilled: true, people: PEOPLE, startProvider, settings })
    await writeWorldFile(file, world)
    if (stopped) return 1
    const args = [
      ...['--world', file, '--only', options.only],
      ...(options.check === undefined ? [] : ['--check', options.check]),
      ...(options.slow ? ['--slow'] : []),
      ...(options['no-skips'] ? ['--no-skips'] : []),
    ]
    suite = spawn(process.execPath, [options.suite, ...args], { stdio: 'inherit' })
    return await exitOf(suite)
  } finally {
    await world?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
