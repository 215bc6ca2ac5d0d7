// How loci is to use, as forty checks with a measured value each. What is not passed yet has its reason; at least 36
// pass where all can be seen, and a check without a reason that does not pass fails the test. The packages are
// installed first; everything else runs in a network namespace with loopback alone.

import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { AGENTS } from '../robustness/scorecard/agents.ts'
import { COMMAND_LINE } from '../robustness/scorecard/command-line.ts'
import { DOCTOR } from '../robustness/scorecard/doctor.ts'
import { FIRST_MINUTES } from '../robustness/scorecard/first-minutes.ts'
import { OPERATORS } from '../robustness/scorecard/operators.ts'
import { type Check, makeSetting, type Verdict } from '../robustness/scorecard/setting.ts'
import { CONSOLE } from '../robustness/scorecard/the-console.ts'
import { bringNode, OLDER_NODES } from '../world/node-versions.ts'
import { type Installed, installPacked, ownNetwork } from '../world/packed.ts'
import { type Report, reportOn } from '../world/report.ts'

const PASSES_MIN = 36
/** What a check says for whose sake this machine lacks a program. */
const NOT_SEEN = 'not seen'
const CHECKS_COUNT = 40
const IS_SHORT = process.argv.includes('--short')
/** `--only 6,20`: some of them, while they are worked on. */
const ONLY = after('--only')?.split(',').map(Number)
const CHECKS: readonly Check[] = [
  ...FIRST_MINUTES,
  ...COMMAND_LINE,
  DOCTOR,
  ...CONSOLE,
  ...AGENTS,
  ...OPERATORS,
].toSorted((a, b) => a.number - b.number)

interface Prepared {
  place: string
  installed: Installed
  isAlone: boolean
  olderNode: string | undefined
}

const inside = after('--inside')
if (inside) await reportOn((report) => measured(report, JSON.parse(readFileSync(inside, 'utf8')) as Prepared))
else process.exit(prepare())

function after(option: string): string | undefined {
  const at = process.argv.indexOf(option)
  return at < 0 ? undefined : process.argv[at + 1]
}

/** With the registry, where the cache is cold; then without any network. Answers with the exit code. */
function prepare(): number {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-scorecard-'))
  chmodSync(place, 0o755)
  const net = process.getuid?.() === 0 ? ownNetwork() : { missing: 'this test does not run as root' }
  try {
    const older = OLDER_NODES.map((version) => bringNode(version)).find((found) => 'node' in found)
    const prepared: Prepared = {
      place,
      installed: installPacked(place, ['sdk', 'server', 'cli']),
      isAlone: 'pid' in net,
      olderNode: older && openToAll(place, older.node),
    }
    const file = path.join(place, 'prepared.json')
    writeFileSync(file, JSON.stringify(prepared))
    const enter = 'pid' in net ? ['nsenter', '-t', String(net.pid), '-n', '--'] : []
    const [program = '', ...rest] = [...enter, process.execPath, ...process.argv.slice(1), '--inside', file]
    return spawnSync(program, rest, { stdio: 'inherit' }).status ?? 1
  } finally {
    if ('pid' in net) net[Symbol.dispose]()
    rmSync(place, { recursive: true, force: true })
  }
}

/** Where another user can go. */
function openToAll(place: string, node: string): string {
  const copy = path.join(place, 'older-node')
  writeFileSync(copy, readFileSync(node), { mode: 0o755 })
  return copy
}

async function measured(report: Report, { place, installed, isAlone, olderNode }: Prepared): Promise<void> {
  const within = report.within.bind(report)
  const setting = await makeSetting(place, installed, { isShort: IS_SHORT, isAlone, within, olderNode })
  let passes = 0
  let unseen = 0
  try {
    for (const check of CHECKS) {
      if (ONLY && !ONLY.includes(check.number)) continue
      const verdict = await check.measure(setting).catch((error: Error): Verdict => {
        return { passes: false, value: `it broke: ${error.stack}` }
      })
      if (verdict.passes) passes += 1
      if (verdict.value === NOT_SEEN) unseen += 1
      tell(report, check, verdict)
    }
  } finally {
    await setting.loci(['down'])
  }
  if (ONLY) return
  report.promise(
    `of ${CHECKS_COUNT} checks at least ${PASSES_MIN} pass or cannot be seen on this machine, each number is there once`,
    passes + unseen >= PASSES_MIN &&
      CHECKS.map(({ number }) => number).join() === Array.from({ length: CHECKS_COUNT }, (_, at) => at + 1).join(),
    `${passes} of ${CHECKS.length}${unseen > 0 ? `, ${unseen} not seen` : ''}`,
  )
}

function tell(report: Report, { number, title }: Check, { passes, value, due, mutant }: Verdict): void {
  const name = `${String(number).padStart(2)} ${title}`
  if (!passes && due !== undefined) report.skip(name, `${value.trim()}; due: ${due}`)
  else report.promise(name, passes, value.trim())
  if (mutant) report.mutant(`${String(number).padStart(2)} ${mutant.name}`, mutant.caught)
}
