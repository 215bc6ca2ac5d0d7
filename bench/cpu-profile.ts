// What a profile of `node --cpu-prof` says about self time: which files, and which functions in them.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

interface Profile {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[]
  samples: number[]
  timeDeltas: number[]
}

interface Share {
  name: string
  share: number
}

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const IDLE = new Set(['(idle)', '(root)'])

/** The only profile in the directory, as shares of the time in which the process was not idle. */
export function readProfile(directory: string): { files: Share[]; functions: Share[] } {
  const file = readdirSync(directory).find((name) => name.endsWith('.cpuprofile'))
  if (!file) throw new Error(`no .cpuprofile in ${directory}: was the process ended before it could write one?`)
  const profile = JSON.parse(readFileSync(join(directory, file), 'utf8')) as Profile
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]))
  const files = new Map<string, number>()
  const functions = new Map<string, number>()
  let total = 0
  for (const [at, id] of profile.samples.entries()) {
    const frame = frames.get(id)
    if (!frame || IDLE.has(frame.functionName)) continue
    const micros = profile.timeDeltas[at] ?? 0
    const place = placeOf(frame)
    total += micros
    files.set(place, (files.get(place) ?? 0) + micros)
    const name = `${frame.functionName || '(anonymous)'}  ${place}:${frame.lineNumber + 1}`
    functions.set(name, (functions.get(name) ?? 0) + micros)
  }
  return { files: shares(files, total), functions: shares(functions, total) }
}

function shares(times: Map<string, number>, total: number): Share[] {
  return [...times].map(([name, time]) => ({ name, share: time / total })).sort((a, b) => b.share - a.share)
}

function placeOf({ url, functionName }: { url: string; functionName: string }): string {
  if (url === '') return functionName.startsWith('(') ? functionName : 'native'
  return url
    .replace(/^file:\/\//, '')
    .replace(ROOT, '')
    .replace(/^.*node_modules\//, '')
}
