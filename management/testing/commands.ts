// Commands of management as real processes, or inside this one.

import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { runProgram } from '@loci/chassis/program.ts'
import { operatorCommands } from '../commands/commands.ts'
import { REGISTRY } from '../settings.ts'

const MAIN = join(import.meta.dirname, '../main.ts')

export interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

export function run(env: Record<string, string>, ...args: string[]): Promise<Outcome> {
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  return new Promise((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
}

/** The same program in this process: starting one costs half a second of processor. */
export async function inside(env: Record<string, string>, ...argv: string[]): Promise<Outcome> {
  const streams = { out: [] as string[], err: [] as string[] }
  const out = (text: string) => void streams.out.push(text)
  const err = (text: string) => void streams.err.push(text)
  const commands = { serve: { summary: '', run: async () => 0 }, ...operatorCommands({ out, err }) }
  const code = await runProgram({ ...REGISTRY, version: 'test', commands, argv, env, out, err })
  return { code: code ?? null, stdout: streams.out.join(''), stderr: streams.err.join('') }
}

export function settings(databaseUrl: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? '',
    LOCI_DATABASE_URL: databaseUrl,
    LOCI_SEALING_KEYS: `2026-11:${randomBytes(32).toString('base64')}`,
  }
}
