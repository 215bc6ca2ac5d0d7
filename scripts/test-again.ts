// `npm test -- --times 10 --beside 2`: the whole run again and again, with processes beside it that keep cores busy. A
// verdict that depends on the machine's speed shows as runs of one commit that differ. Each run is a
// process of its own with a PostgreSQL of its own; what failed is printed in full, and a table of all runs comes last.
// With `--nice 10` the busy ones come first and the run gets about a tenth of a core: that finds a fixed wait which
// fair shares leave alone.

import { type ChildProcess, spawn } from 'node:child_process'
import { loadavg, setPriority } from 'node:os'

interface Run {
  passed: number
  failed: number
  ms: number
  load: number
}

/** Resolves with the sum of all runs. `args` are those of one run. */
export async function runAgain(
  script: string,
  args: string[],
  { times, beside, nice, signal }: { times: number; beside: number; nice: number; signal: AbortSignal },
): Promise<{ passed: number; failed: number }> {
  const busy = Array.from({ length: beside }, () => spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }))
  const runs: Run[] = []
  try {
    for (let at = 1; at <= times && !signal.aborted; at += 1) {
      const run = await runOnce(script, args, nice, signal)
      runs.push(run)
      console.log(`run ${at} of ${times}: ${row(run)}`)
    }
  } finally {
    for (const child of busy) child.kill('SIGKILL')
  }
  console.log(
    `\n${times} times with ${beside} busy processes beside it${nice > 0 ? `, nice ${nice}` : ''}\nrun   seconds   load   passed   failed`,
  )
  for (const [at, run] of runs.entries()) console.log(`${String(at + 1).padStart(3)}   ${row(run)}`)
  const sum = (of: (run: Run) => number) => runs.reduce((total, run) => total + of(run), 0)
  return { passed: sum(({ passed }) => passed), failed: sum(({ failed }) => failed) + (signal.aborted ? 1 : 0) }
}

async function runOnce(script: string, args: string[], nice: number, signal: AbortSignal): Promise<Run> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  // Its own processes, PostgreSQL among them, inherit it.
  if (child.pid !== undefined && nice > 0) setPriority(child.pid, nice)
  const stop = () => void child.kill('SIGTERM')
  signal.addEventListener('abort', stop)
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (part: string) => (text += part))
  const code = await ended(child)
  signal.removeEventListener('abort', stop)
  const last = /(\d+) passed, (\d+) failed[^\n]*\s*$/.exec(text)
  const failed = Math.max(Number(last?.[2] ?? 1), code === 0 ? 0 : 1)
  if (failed > 0) console.log(text)
  return { passed: Number(last?.[1] ?? 0), failed, ms: performance.now() - startedAt, load: loadavg()[0] as number }
}

function ended(child: ChildProcess): Promise<number | null> {
  return new Promise((resolve) => child.once('close', resolve))
}

function row({ ms, load, passed, failed }: Run): string {
  const columns = [(ms / 1000).toFixed(1).padStart(7), load.toFixed(1).padStart(4), String(passed).padStart(6)]
  return `${columns.join('   ')}   ${String(failed).padStart(6)}`
}
