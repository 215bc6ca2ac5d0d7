// A tool of others, or a script of ours, run to its end with all that it printed. What does not end is not waited for:
// a Node that leaves while V8 still compiles may wait for itself for ever (nodejs/node#54918), as linters have done.

import { execFileSync, spawn } from 'node:child_process'

export interface Ended {
  code: number | null
  output: string
}

interface Options {
  cwd: string
  env?: NodeJS.ProcessEnv
  /** Far above what it takes on a loaded machine. */
  withinMs: number
}

const END_MS_MAX = 5_000

/** Asked once more when it did not end: a hang says nothing about the tree. The second time it has failed. */
export async function runToEnd(command: string[], options: Options): Promise<Ended> {
  const first = await runOnce(command, options)
  if (first.hung === undefined) return first
  console.log(`${command.join(' ')} did not end within ${options.withinMs / 1000} s and is run again:\n${first.hung}`)
  const second = await runOnce(command, options)
  if (second.hung === undefined) return second
  return { code: 1, output: `${second.output}\ndid not end within ${options.withinMs / 1000} s, twice` }
}

function runOnce([file = '', ...args]: string[], { cwd, env, withinMs }: Options): Promise<Ended & { hung?: string }> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], ...(env ? { env } : {}) })
    let output = ''
    let hung: string | undefined
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    let timer = setTimeout(() => {
      const family = familyOf(child.pid as number)
      hung = [...family.map(({ line }) => line), ...output.trimEnd().split('\n').slice(-10)].join('\n')
      // Who still hears it takes a Postgres along that is no child of anybody.
      child.kill('SIGTERM')
      timer = setTimeout(() => {
        // What lost its parent meanwhile may hold on to the output.
        for (const { pid } of family) endNow(pid)
      }, END_MS_MAX)
    }, withinMs)
    const end = (ended: Ended) => {
      clearTimeout(timer)
      resolve(hung === undefined ? ended : { ...ended, hung })
    }
    child.on('error', (error) => end({ code: 1, output: `cannot start ${file}: ${error.message}` }))
    child.on('close', (code, signal) => end({ code, output: signal ? `${output}\nended by ${signal}` : output }))
  })
}

/** A process and all below it, with what each of them waits for. */
function familyOf(root: number): { pid: number; line: string }[] {
  const columns = 'pid,ppid,stat,wchan:24,etime,time,args'
  const rows = execFileSync('ps', ['-A', '-ww', '-o', columns], { encoding: 'utf8' })
    .split('\n')
    .slice(1)
    .map((line) => {
      const [pid, parent] = line.trim().split(/\s+/, 2).map(Number)
      return { pid: pid as number, parent: parent as number, line: line.slice(0, 200) }
    })
  const found = rows.filter(({ pid }) => pid === root)
  for (const { pid } of found) found.push(...rows.filter(({ parent }) => parent === pid))
  return found
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
