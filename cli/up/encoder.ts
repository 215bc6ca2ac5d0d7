// What recall goes by: words alone, or meaning too where there is the folder of an encoder. An option stays chosen;
// without one the folder is looked for where it usually is.

import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { usage } from '../failure.ts'
import type { Call } from '../tree/command.ts'
import type { DataDirectory } from './files.ts'
import { findPrograms } from './programs.ts'
import type { State } from './state.ts'

export interface Encoder {
  /** What the daemon is told; undefined: none. */
  folder: string | undefined
  /** What the next start goes by: a folder, none, or whatever is there. */
  choice: State['encoder']
}

export function chosenEncoder(call: Call, data: DataDirectory, state: State | undefined): Encoder {
  const told = call.text('encoder')
  if (call.has('no-encoder')) {
    if (told !== undefined) throw usage('--encoder or --no-encoder, not both.')
    return { folder: undefined, choice: 'none' }
  }
  if (told !== undefined) {
    const folder = resolve(call.host.cwd, told)
    if (!isMade(folder)) throw usage(`${folder} has no encoder.json: npm run encoder makes such a folder.`)
    return { folder, choice: { folder } }
  }
  const choice = state?.encoder
  if (choice === 'none') return { folder: undefined, choice }
  // One that is gone is told to the daemon all the same: it says why recall goes by words.
  if (choice) return { folder: choice.folder, choice }
  return { folder: usualFolders(data).find(isMade), choice: undefined }
}

/** Beside the data directory, so that it serves all of them; and where a checkout makes one. */
function usualFolders(data: DataDirectory): string[] {
  const { root, isCheckout } = findPrograms()
  return [join(dirname(data.path), 'encoder'), ...(isCheckout ? [join(root, 'encoder')] : [])]
}

function isMade(folder: string): boolean {
  return existsSync(join(folder, 'encoder.json'))
}

/** Asked of the daemon, which alone knows whether it can use the folder. */
export async function recallGoesBy(daemonUrl: string, folder: string | undefined): Promise<string> {
  if (folder === undefined) return 'by words (an encoder adds meaning: docs/operations/encoder.md)'
  const answer = await fetch(`${daemonUrl}/v1/health/all`)
  const { checks } = (await answer.json()) as { checks: { encoder?: { status: string; detail?: string } } }
  if (checks.encoder?.status === 'running') return `by words and by meaning (${folder})`
  return `by words: the encoder of ${folder} is ${checks.encoder?.status}: ${checks.encoder?.detail}`
}
