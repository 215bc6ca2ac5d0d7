// `npm run check`: everything that can be said about the tree without running the programs.
// One line per stage; a stage that fails shows what it printed, and tidy always the shape of both programs. Last line:
// `N passed, N failed`.

import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Ended } from '@loci/tests/world/to-end.ts'

type Stage = {
  name: string
  command: string[]
  hint?: string
  /** Its output is shown when it passes, too. */
  isRead?: boolean
}

/** The slowest takes 15 s on two idle cores. */
const STAGE_MS_MAX = 600_000

const top = path.dirname(import.meta.dirname)
const bin = path.join(top, 'node_modules/.bin')

/** No colors; and redocly tells nobody that it ran, and asks nobody for a newer one. */
const QUIET = { NO_COLOR: '1', REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
const OPENAPI = ['docs/api/daemon.openapi.json', 'docs/api/management.openapi.json']

const STAGES: Stage[] = [
  { name: 'types', command: [path.join(bin, 'tsc'), '-p', '.', '--pretty', 'false'] },
  { name: 'console', command: [path.join(bin, 'tsc'), '-p', 'console', '--pretty', 'false'] },
  {
    name: 'lint',
    command: [path.join(bin, 'biome'), 'ci', '--colors=off', '--error-on-warnings', '--max-diagnostics=30', '.'],
    hint: 'what can be mended by itself: npx biome check --write',
  },
  { name: 'tidy', command: [process.execPath, 'scripts/tidy.ts'], isRead: true },
  { name: 'schema', command: [process.execPath, 'scripts/schema.ts', '--check'] },
  { name: 'documents', command: [process.execPath, 'scripts/documents.ts', '--check'] },
  {
    name: 'openapi',
    // Strict: what its recommended rules only warn about fails too.
    command: [path.join(bin, 'redocly'), 'lint', '--extends=recommended-strict', ...OPENAPI],
    hint: 'the documents are made from the routes: node scripts/documents.ts',
  },
]

// All at once: the schema waits for a Postgres to start, and that wait is the other stages' time.
const results = await Promise.all(STAGES.map(runStage))
const failed = results.filter((passed) => !passed).length
console.log(`${results.length - failed} passed, ${failed} failed`)
process.exitCode = failed > 0 ? 1 : 0

async function runStage({ name, command, hint, isRead }: Stage): Promise<boolean> {
  const started = performance.now()
  const { code, output } = await run(command)
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name.padEnd(10)} ${seconds.padStart(6)} s`)
  if (code !== 0 || isRead) console.log(output.trimEnd().replaceAll(/^/gm, '       '))
  if (code !== 0 && hint) console.log(`       ${hint}`)
  return code === 0
}

async function run([file = '', ...args]: string[]): Promise<Ended> {
  const needed = file === process.execPath ? path.join(top, args[0] ?? '') : file
  if (!existsSync(needed)) {
    const hint = needed.startsWith(bin) ? 'run: npm ci' : 'write it or take its stage out of scripts/check.ts'
    return { code: 1, output: `missing: ${path.relative(top, needed)}; ${hint}` }
  }
  // Not at the top: before `npm ci` the hint above is what people need.
  const { runToEnd } = await import('@loci/tests/world/to-end.ts')
  return runToEnd([file, ...args], { cwd: top, env: { ...process.env, ...QUIET }, withinMs: STAGE_MS_MAX })
}
