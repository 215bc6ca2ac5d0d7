// node scripts/conformance.ts [--only group,…] [--check id,…] [--with stage,…] [--slow] [--no-skips] [--suite PATH]
// [--provider NAME]: the conformance suite beside this checkout against a whole loci, with the sign-in provider of that
// name. It runs the groups and stages that are built, and those of --with. The output and the exit code are the suite's
// own, except for the last line, which also names how many checks of the suite were not run and why. Without a suite
// the script passes on a machine of a developer and fails where CI is set.

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { startKeycloak } from '@loci/tests/world/keycloak.ts'
import { startOwnProvider } from '@loci/tests/world/sign-in-provider.ts'
import { startWorld, type World } from '@loci/tests/world/world.ts'
import { PEOPLE, writeWorldFile } from '@loci/tests/world/world-file.ts'

/** Groups of the suite whose routes exist. An issue that builds one adds it here. */
const BUILT = [
  ...['probes', 'information', 'admin', 'authority', 'kv', 'working-memory', 'memory', 'projections', 'mcp', 'events'],
  ...['cycles', 'advice', 'outcomes', 'databases'],
  ...['audit', 'openapi', 'limits'],
  ...['billing', 'tenants', 'api-keys', 'organizations', 'cells', 'operations', 'services', 'sessions'],
]

/** Stages of the suite that are built: its checks of what was still to come when it was written. */
const BUILT_STAGES = ['mend', 'recall', 'meter', 'agents']

const PROVIDERS = { 'oidc-provider': startOwnProvider, keycloak: startKeycloak }

const top = path.dirname(import.meta.dirname)
const { values: options } = parseArgs({
  options: {
    suite: { type: 'string', default: path.join(top, '../shared/conformance/run.mjs') },
    only: { type: 'string', default: BUILT.join(',') },
    check: { type: 'string' },
    with: { type: 'string', default: '' },
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
  const isFailure = Boolean(process.env.CI)
  console.log(`${isFailure ? 'FAILED' : 'skipped'}: there is no conformance suite at ${options.suite}`)
  console.log(`0 passed, ${isFailure ? 1 : 0} failed; no check of the suite was run`)
  process.exitCode = isFailure ? 1 : 0
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
    // The segment of partners' paths is configuration: another name than the default shows it.
    const settings = { LOCI_PARTNER_NAME: 'acme-crm' }
    world = await startWorld({ isBilled: true, people: PEOPLE, startProvider, settings })
    await writeWorldFile(file, world)
    if (stopped) return 1
    const stages = [...new Set([...BUILT_STAGES, ...options.with.split(',')])].filter(Boolean).join(',')
    const args = [
      ...['--world', file, '--only', options.only, '--with', stages],
      ...(options.check === undefined ? [] : ['--check', options.check]),
      ...(options.slow ? ['--slow'] : []),
      ...(options['no-skips'] ? ['--no-skips'] : []),
    ]
    suite = spawn(process.execPath, [options.suite, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [code] = await Promise.all([exitOf(suite), printWithReasons(suite.stdout as Readable)])
    return code
  } finally {
    await world?.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

/** Prints the suite's output, and in its last line also what the suite left out, so that the count alone shows it. */
async function printWithReasons(output: Readable): Promise<void> {
  const leftOut: string[] = []
  let last = ''
  for await (const line of createInterface({ input: output })) {
    if (last) console.log(last)
    last = line
    const [, reason] = /^left out (\d+: .*)$/.exec(line) ?? []
    if (reason) leftOut.push(reason)
  }
  console.log(leftOut.length > 0 ? `${last}; not run: ${leftOut.join('; ')}` : last)
}

function exitOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', (code) => resolve(code ?? 1))
  })
}
