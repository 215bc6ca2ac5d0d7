// `loci up` of an earlier release, and then of this one in the same data directory.

import { spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface Upgraded {
  recalled: string
  /** Names of the copies that were kept of the cluster as the release before left it. */
  copies: string[]
  /** Commands that did not end with 0. */
  wrong: string[]
}

const HERE = fileURLToPath(new URL('../..', import.meta.url))

/** No release was made yet, so the one before is given a version of its own. */
const BEFORE = '0.0.9'

/** `port` and the 20 above it are free. */
export async function upgradeUp(before: string, port: number, content: string): Promise<Upgraded> {
  for (const folder of ['cli', 'daemon', 'management']) {
    const file = join(before, folder, 'package.json')
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), version: BEFORE }))
  }
  // PostgreSQL does not run as root and must get to its data.
  const home = mkdtempSync(join(tmpdir(), 'loci-upgraded-'))
  chmodSync(home, 0o755)
  const data = join(home, 'data')
  const copies = join(data, 'copies')
  const wrong: string[] = []
  const loci = async (root: string, ...args: string[]) => {
    const child = spawn(process.execPath, [join(root, 'cli/main.ts'), ...args], {
      env: { PATH: process.env.PATH, HOME: home, LOCI_UP_DATA: data },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let text = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => (text += part))
    const code = await new Promise((resolve) => child.once('close', resolve))
    if (code !== 0) wrong.push(`loci ${args.join(' ')} ended with ${code}: ${text.slice(-500)}`)
    return text
  }
  const chosen = ['--data', data, '--port', String(port)]
  const profile = ['--profile', `dev-${port}`]
  try {
    await loci(before, 'up', '-d', ...chosen)
    await loci(before, 'memory', 'store', content, ...profile)
    await loci(before, 'down', '--data', data)
    await loci(HERE, 'up', '-d', ...chosen)
    const recalled = await loci(HERE, 'memory', 'recall', content, ...profile)
    return { recalled, copies: existsSync(copies) ? readdirSync(copies) : [], wrong }
  } finally {
    await loci(HERE, 'down', '--data', data)
    rmSync(home, { recursive: true, force: true })
  }
}
