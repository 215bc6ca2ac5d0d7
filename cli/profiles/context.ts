// What a directory has chosen for itself: the service of the project in it.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandFailure } from '../failure.ts'
import type { Host } from '../host.ts'

interface Context {
  file: string
  service: string | undefined
}

function fileOf(host: Host): string {
  return join(host.cwd, '.loci', 'context.json')
}

export function readContext(host: Host): Context | undefined {
  const file = fileOf(host)
  try {
    const { service } = JSON.parse(readFileSync(file, 'utf8')) as { service?: unknown }
    return { file, service: typeof service === 'string' ? service : undefined }
  } catch (error) {
    if (!(error instanceof SyntaxError)) return undefined
    throw new CommandFailure('config', 'BAD_CONFIG', `${file} is not JSON.`, {
      hint: 'loci use <service> writes it anew.',
    })
  }
}

export function writeContext(host: Host, service: string): string {
  const file = fileOf(host)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify({ service }, null, 2)}\n`)
  return file
}
