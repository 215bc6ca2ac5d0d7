// pgbench of the world's own server: the bare engine, prepared, over its socket.

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { World } from '@loci/tests/world/world.ts'

export interface BareRun {
  /** Where the script is put. */
  directory: string
  name: string
  script: string
  clients: number
  seconds: number
  user?: string
}

/** Transactions a second. */
export function runPgbench({ postgres }: World, run: BareRun): Promise<number> {
  const file = join(run.directory, `${run.name}.sql`)
  writeFileSync(file, run.script)
  const { binDirectory, socketDirectory, port } = postgres
  const args = [
    ...['-n', '-M', 'prepared', '-c', String(run.clients), '-j', '1', '-T', String(run.seconds), '-f', file],
    ...['-h', socketDirectory, '-p', String(port), '-U', run.user ?? 'loci_daemon', 'loci_cell'],
  ]
  return new Promise((resolve, reject) => {
    const child = spawn(join(binDirectory, 'pgbench'), args, { stdio: ['ignore', 'pipe', 'pipe'] })
    child.once('error', reject)
    let text = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (part: string) => (text += part))
    child.once('close', () => {
      const tps = /tps = ([\d.]+) \(without/.exec(text)?.[1]
      if (tps) resolve(Number(tps))
      else reject(new Error(`pgbench: ${text}`))
    })
  })
}
