// Starts a program that is expected to refuse: runs until it ends, or until it is clear that it will not.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE, type ProgramName } from './process.ts'

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
  /** It came as far as the line that says that it would not refuse any more, and was ended by us. */
  hasStarted: boolean
  ms: number
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

export async function launch({
  root = ROOT,
  program,
  args = [],
  settings,
  startedWhen = /"message":"listening"/,
  withinMs = 120_000,
}: {
  root?: string
  program: ProgramName
  args?: string[]
  settings: Record<string, string>
  startedWhen?: RegExp
  withinMs?: number
}): Promise<Outcome> {
  const startedAt = performance.now()
  const child = spawn(process.execPath, [`${program}/main.ts`, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', NODE_COMPILE_CACHE: COMPILE_CACHE, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  let hasStarted = false
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (!startedWhen.test(stdout)) return
    hasStarted = true
    child.kill('SIGKILL')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), withinMs)
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  return { code, stdout, stderr, hasStarted, ms: performance.now() - startedAt }
}
