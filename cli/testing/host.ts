// The command line in this process, as somebody at a machine of their own would run it.

import type { Host } from '../host.ts'
import { COMMANDS } from '../tree/commands.ts'
import { run } from '../tree/run.ts'
import type { Document } from './loci.ts'

export interface Ran<Data> {
  code: number
  stdout: string
  stderr: string
  document: Document<Data>
}

export async function runHere<Data = Record<string, unknown>>(
  argv: readonly string[],
  given: Partial<Host> & Pick<Host, 'env' | 'home'>,
): Promise<Ran<Data>> {
  let stdout = ''
  let stderr = ''
  const host: Host = {
    argv,
    cwd: given.home,
    platform: process.platform,
    uid: process.getuid?.(),
    version: '0.1.0',
    node: process.execPath,
    script: new URL('../main.ts', import.meta.url).pathname,
    isTerminal: false,
    canAsk: false,
    out: (text) => {
      stdout += text
    },
    err: (text) => {
      stderr += text
    },
    readInput: async () => '',
    ask: async () => '',
    signal: new AbortController().signal,
    ...given,
  }
  const code = await run(host, COMMANDS)
  const document = argv.includes('--json') ? JSON.parse(stdout) : undefined
  return { code, stdout, stderr, document }
}
