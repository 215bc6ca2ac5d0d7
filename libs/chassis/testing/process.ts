// A program as a process of its own, for tests of its start and its end.

import { type ChildProcess, spawn } from 'node:child_process'
import { eventually } from './request.ts'

export interface TestProcess {
  child: ChildProcess
  /** Where it listens, once it does. */
  url: Promise<string>
  /** Its exit code, or the signal that ended it. */
  exited: Promise<unknown>
  printed(): string
}

export function startProcess(main: string, settings: Record<string, string>): TestProcess {
  const child = spawn(process.execPath, [main], {
    env: { LOCI_LISTEN: '127.0.0.1:0', LOCI_DRAIN_GRACE_MS: '0', ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = new Promise((resolve) => child.once('exit', (code, by) => resolve(code ?? by)))
  let text = ''
  const url = new Promise<string>((resolve, reject) => {
    void exited.then((code) => reject(new Error(`ended with ${code} before it listened`)))
    child.stdout?.setEncoding('utf8').on('data', (part: string) => {
      text += part
      const found = /"url":"([^"]+)".*"message":"listening"/.exec(text)?.[1]
      if (found) resolve(found)
    })
  })
  return { child, url, exited, printed: () => text }
}

/** `statusUrl` answers the lifecycle of a process. */
export async function untilState(statusUrl: string, state: string): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(statusUrl)
    return ((await answer.json()) as { state: string }).state === state
  })
}
