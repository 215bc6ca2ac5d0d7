// What the plugin keeps between two hooks, in the folder that Claude Code gives it: how far a session is stored, what
// it was shown, where a service is, and why a hook did nothing. No credential, and nothing that anybody said.

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const DAYS_MAX = 30

/** Of a session, or of all of them where none is named. Without a folder nothing is kept, and all is asked again. */
export function keptAt(env, name) {
  const folder = env.CLAUDE_PLUGIN_DATA
  const file = folder && /^[\w.-]{1,120}$/.test(name) ? join(folder, `${name}.json`) : undefined
  return {
    read() {
      try {
        return file ? (JSON.parse(readFileSync(file, 'utf8')) ?? {}) : {}
      } catch {
        return {}
      }
    },
    write(value) {
      if (file) replaceFile(file, JSON.stringify(value), 0o600)
    },
  }
}

/** Whole or not at all: hooks run side by side. */
export function replaceFile(file, text, mode) {
  const half = `${file}.${process.pid}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    writeFileSync(half, text, { mode })
    renameSync(half, file)
  } catch {
    rmSync(half, { force: true }) // It can be found out again.
  }
}

/** For the person who asks why nothing comes: hooks themselves are silent. */
export function noteProblem(env, event, problem) {
  keptAt(env, 'last-problem').write({ at: new Date().toISOString(), event, problem })
}

export function dropOld(env) {
  const folder = env.CLAUDE_PLUGIN_DATA
  if (!folder) return
  const since = Date.now() - DAYS_MAX * 86_400_000
  for (const name of readdirSync(folder)) {
    const file = join(folder, name)
    if (/^session-/.test(name) && (statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? since) < since)
      rmSync(file, { force: true })
  }
}
