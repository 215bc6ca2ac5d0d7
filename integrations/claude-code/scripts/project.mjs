// Whose memory a project is, and whether the person wants one here.

import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'

const NAME = /^[a-z0-9_-]{1,64}$/
const PART_MAX = 48
const DIGITS = 12

/**
 * `LOCI_USER` as for the command line. Without it each person has a database for each project: two people who work on
 * one repository, and two folders of one name, do not share what was said, unless somebody says so.
 */
export function databaseOf(env, directory) {
  if (env.LOCI_USER) return NAME.test(env.LOCI_USER) ? env.LOCI_USER : undefined
  const root = rootOf(directory)
  const remote = remoteOf(root)
  const name = basename(remote ?? root)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, PART_MAX)
  const digest = createHash('sha256').update(JSON.stringify([personOf(), remote ?? root]))
  return `${name || 'project'}-${digest.digest('hex').slice(0, DIGITS)}`
}

/** `off`, or one half alone: `recall` stores nothing, `store` recalls nothing. */
export function isWanted(env, half) {
  const asked = (env.LOCI_CLAUDE_CODE ?? '').trim().toLowerCase()
  return asked === '' || asked === 'on' || asked === half
}

function personOf() {
  try {
    return userInfo().username
  } catch {
    return '' // An id without a name, as in some containers.
  }
}

/** The folder that has `.git`, so that a session in a folder below it is of the same project. */
function rootOf(directory) {
  const start = resolve(directory)
  for (let at = start; ; at = dirname(at)) {
    if (statSync(join(at, '.git'), { throwIfNoEntry: false })) return at
    if (dirname(at) === at) return start
  }
}

/** The same for ssh and https, and never with a password that stands in the address. */
function remoteOf(root) {
  const [, section = ''] = /^\[remote "origin"\]\s*\n((?:(?!\s*\[).*(?:\n|$))*)/m.exec(configOf(root)) ?? []
  const [, address = ''] = /^\s*url\s*=\s*(\S+)\s*$/m.exec(section) ?? []
  const [, host, path] =
    /^\w[\w+.-]*:\/\/(?:[^@/]*@)?([^/:]+)(?::\d+)?\/+(.+)$/.exec(address) ??
    /^(?:[^@/]+@)?([^/:]+):(.+)$/.exec(address) ??
    []
  // A path on this machine names no project elsewhere.
  if (!host || !path || host.length === 1) return undefined
  return `${host.toLowerCase()}/${path
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')
    .replace(/^\/+/, '')}`
}

/** Of a worktree that of its repository; no git is started, for that takes longer than the rest. */
function configOf(root) {
  try {
    const place = join(root, '.git')
    if (statSync(place).isDirectory()) return readFileSync(join(place, 'config'), 'utf8')
    const [, leads = ''] = /^gitdir: (.+)$/m.exec(readFileSync(place, 'utf8')) ?? []
    const folder = resolve(root, leads)
    const common = resolve(folder, readFileSync(join(folder, 'commondir'), 'utf8').trim())
    return readFileSync(join(common, 'config'), 'utf8')
  } catch {
    return ''
  }
}
