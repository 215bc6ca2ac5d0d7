// A loci program as a real process: started as an operator starts it, read by its log lines, ended by its own pid.

import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface LociProcess {
  readonly pid: number
  readonly url: string
  readonly child: ChildProcess
  /** Every line of standard output and standard error so far. */
  readonly lines: string[]
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** SIGTERM, and SIGKILL when it has not ended in time. */
  stop(withinMs?: number): Promise<void>
  kill(): Promise<void>
}

export type ProgramName = 'daemon' | 'management'

/**
 * As docs/operations/install.md starts a program. V8 sizes its young generation by the machine: on a large one it
 * collects so late that 40,000 connections took a daemon from 117 to 269 MB; with 8 MB it stayed below 170 MB at the
 * same rate. And it lets the old generation grow fourfold between two collections: 280 MB in a storm of writes, 207 MB
 * when it may only double. Both have more to begin with by now and may grow by half: in the fuzz management had 271 MB
 * when it might double, the daemon 249 to 251 MB, and 235 MB so. With 16 MB in place of 8 a daemon takes 11 % less for
 * cycles with a focus (its helping threads 30 % of it, not 38), for 1 MB more; one that may double besides takes 16 %
 * less, for 49 MB (npm run bench -- writes --flags).
 */
export const NODE_FLAGS: Record<ProgramName, string[]> = {
  daemon: ['--max-semi-space-size=16', '--heap-growing-percent=50'],
  management: ['--max-semi-space-size=16', '--heap-growing-percent=50'],
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/**
 * As in install.md too: a process that finds its code compiled here does not load what takes the types out. An idle
 * daemon had 176 MB without it and 149 MB with it, management 133 and 109, and a start takes half the time.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/loci-compiled', import.meta.url))
/**
 * And this: by default glibc has up to eight arenas for each core, and what is freed in one is of no use to another. A
 * daemon that recalled uniformly over 1,500 databases had 339 and 349 MB without it, 313 MB with two, 310 MB with one;
 * over 10^4 databases 396 MB without it and 382 MB with two.
 */
export const MALLOC_ARENA_MAX = '2'
const LINES_MAX = 20_000

/** Only what it is given, and what any process needs: a stray LOCI_* of the developer's shell must not reach it. */
function environment(settings: Record<string, string>): Record<string, string> {
  const { PATH = '', HOME = '' } = process.env
  return { PATH, HOME, NODE_COMPILE_CACHE: COMPILE_CACHE, MALLOC_ARENA_MAX, ...settings }
}

/** How the programs are started; those of the checkout, unless they lie elsewhere. */
export interface Programs {
  startProgram: typeof startProgram
  runCommand: typeof runCommand
}

const CHECKOUT: Record<ProgramName, string> = { daemon: 'daemon/main.ts', management: 'management/main.ts' }

/** Those of an installed package, by the paths of their first files. */
export function programsAt(files: Record<ProgramName, string>): Programs {
  return {
    startProgram: (program, settings, nodeOptions) => startProgram(program, settings, nodeOptions, files),
    runCommand: (program, args, settings) => runCommand(program, args, settings, files),
  }
}

/**
 * Resolves when the program listens; whether it is ready, ask its probes. Rejects with what it wrote when it ends
 * before.
 */
export async function startProgram(
  program: ProgramName,
  settings: Record<string, string>,
  nodeOptions: string[] = [],
  files = CHECKOUT,
): Promise<LociProcess> {
  const child = spawn(process.execPath, [...NODE_FLAGS[program], ...nodeOptions, files[program]], {
    cwd: ROOT,
    env: environment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const lines: string[] = []
  const exited = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  const listening = Promise.withResolvers<string>()
  for (const stream of [child.stdout, child.stderr]) {
    let rest = ''
    stream.setEncoding('utf8')
    stream.on('data', (text: string) => {
      // Under load the lines of a daemon would cost the test as much as its own work.
      if (lines.length >= LINES_MAX) return
      const parts = (rest + text).split('\n')
      rest = parts.pop() as string
      for (const line of parts) {
        if (lines.length < LINES_MAX) lines.push(line)
        const url = /"url":"([^"]+)".*"message":"listening"/.exec(line)?.[1]
        if (url) listening.resolve(url)
      }
    })
  }
  void exited.then(({ code, signal }) =>
    listening.reject(
      new Error(`${program} ended before it listened (${code ?? signal}):\n${lines.slice(-20).join('\n')}`),
    ),
  )
  const url = await listening.promise
  return {
    pid: child.pid as number,
    url,
    child,
    lines,
    exited,
    async stop(withinMs = 60_000) {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), withinMs)
      await exited
      clearTimeout(timer)
    },
    async kill() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/**
 * Runs a program's command to its end, with the flags of a program that serves: what V8 has compiled under others it
 * does not take, and `migrate` would compile for nobody.
 */
export async function runCommand(
  program: ProgramName,
  args: string[],
  settings: Record<string, string>,
  files = CHECKOUT,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [...NODE_FLAGS[program], files[program], ...args], {
    cwd: ROOT,
    env: environment(settings),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, stdout, stderr }
}

/** Asks readiness until it answers 200. */
export async function untilReady(url: string, withinMs = 120_000): Promise<void> {
  const until = Date.now() + withinMs
  for (;;) {
    const status = await fetch(`${url}/health/ready`).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 200) return
    if (Date.now() > until) throw new Error(`${url} was not ready within ${withinMs} ms (last answer ${status})`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
