// The plugin for Claude Code as Claude Code has it: a copy of its folder, and hooks that run as hooks.json says, with
// JSON on standard input and nothing of the developer's environment.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')
export const PLUGIN = path.join(ROOT, 'integrations/claude-code')
export const EVENTS = ['SessionStart', 'UserPromptSubmit', 'Stop', 'PreCompact', 'SessionEnd'] as const
export type HookEvent = (typeof EVENTS)[number]

/** Of a file of the plugin; `from` must be there exactly once. */
export interface PluginEdit {
  file: string
  from: string
  to: string
}

/** What an edit takes away, the copy does not have. */
export function copyPlugin(place: string, edits: readonly PluginEdit[] = []): string {
  const root = path.join(mkdtempSync(path.join(place, 'plugin-')), 'loci')
  cpSync(PLUGIN, root, { recursive: true })
  for (const { file, from, to } of edits) {
    const copied = path.join(root, path.relative(PLUGIN, path.join(ROOT, file)))
    const text = readFileSync(copied, 'utf8')
    const [before, after, ...more] = text.split(from)
    if (after === undefined || more.length > 0) throw new Error(`the mutant of ${file} no longer applies: ${from}`)
    writeFileSync(copied, `${before}${to}${after}`)
  }
  return root
}

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
  /** From the start of the process to the end of its output, as Claude Code waits for it. */
  ms: number
  /** What it puts beside the prompt. */
  context: string
}

export interface Session {
  id: string
  project: string
  /** The folder that Claude Code gives the plugin. */
  data: string
  transcript: string
  /** One line of the transcript of each, as Claude Code writes what a person types. */
  says(...lines: (string | object)[]): void
  run(event: HookEvent, fields?: object, env?: Record<string, string>): Promise<Ran>
  /** How much of the transcript is stored; undefined: nothing was. */
  stored(): number | undefined
  /** Why the last hook that did nothing did nothing. */
  problem(): string | undefined
}

export interface Start {
  plugin: string
  place: string
  env: Record<string, string>
  project?: string
  data?: string
}

let sessions = 0
let lines = 0

export function startSession({ plugin, place, env, project, data }: Start): Session {
  sessions += 1
  const id = `5e551000-0000-4000-8000-${String(sessions).padStart(12, '0')}`
  const folder = project ?? mkdtempSync(path.join(place, 'project-'))
  const kept = data ?? mkdtempSync(path.join(place, 'data-'))
  const transcript = path.join(kept, `${id}.jsonl`)
  writeFileSync(transcript, '')
  return {
    id,
    project: folder,
    data: kept,
    transcript,
    says(...said) {
      for (const one of said) appendFileSync(transcript, `${JSON.stringify(lineOf(id, one))}\n`)
    },
    async run(event, fields = {}, more = {}) {
      const input = { session_id: id, transcript_path: transcript, cwd: folder, hook_event_name: event, ...fields }
      const given = {
        CLAUDE_PLUGIN_ROOT: plugin,
        CLAUDE_PLUGIN_DATA: kept,
        CLAUDE_PROJECT_DIR: folder,
        CLAUDECODE: '1',
      }
      const [command = '', args = []] = commandOf(plugin, event)
      return runProcess(command, args, { cwd: folder, env: { ...given, ...env, ...more } }, JSON.stringify(input))
    },
    stored() {
      const file = path.join(kept, `session-${id}.json`)
      return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { stored: number }).stored : undefined
    },
    problem() {
      const file = path.join(kept, 'last-problem.json')
      return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as { problem: string }).problem : undefined
    },
  }
}

function lineOf(sessionId: string, said: string | object): object {
  lines += 1
  const uuid = `11e00000-0000-4000-8000-${String(lines).padStart(12, '0')}`
  const message = { role: 'user', content: said }
  const typed = { type: 'user', message, uuid, promptSource: 'typed', origin: { kind: 'human' } }
  const timestamp = new Date(Date.UTC(2026, 2, 1) + lines * 60_000).toISOString()
  return {
    ...{ parentUuid: null, isSidechain: false, timestamp, userType: 'external', sessionId, version: '2.1.327' },
    ...(typeof said === 'string' ? typed : { uuid, ...said }),
  }
}

/** The first command of an event, with the placeholder of Claude Code filled in. */
function commandOf(plugin: string, event: HookEvent): [string, string[]] {
  const { hooks } = JSON.parse(readFileSync(path.join(plugin, 'hooks/hooks.json'), 'utf8')) as {
    hooks: Record<string, { hooks: { command: string; args: string[] }[] }[]>
  }
  const { command, args } = hooks[event]?.[0]?.hooks[0] ?? { command: 'false', args: [] }
  return [command, args.map((one) => one.replaceAll('${CLAUDE_PLUGIN_ROOT}', plugin))]
}

export async function runProcess(
  command: string,
  args: readonly string[],
  { cwd, env }: { cwd: string; env: Record<string, string> },
  input = '',
): Promise<Ran> {
  const { HOME: home = '', PATH: rest = '', ...given } = env
  const PATH = [path.dirname(process.execPath), rest, process.env.PATH].filter(Boolean).join(path.delimiter)
  const startedAt = performance.now()
  const child = spawn(command, args, { cwd, env: { HOME: home, PATH, ...given }, stdio: 'pipe' })
  const closed = once(child, 'close') as Promise<[number | null]>
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text
  })
  // It may be gone before it has read.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = await closed
  const ms = performance.now() - startedAt
  return { code, stdout, stderr, ms, context: contextIn(stdout) }
}

function contextIn(stdout: string): string {
  if (!stdout.startsWith('{')) return stdout
  const answer = JSON.parse(stdout) as { hookSpecificOutput?: { additionalContext?: string } }
  return answer.hookSpecificOutput?.additionalContext ?? ''
}

/** A folder that git calls a clone of `remote`; no git is run. */
export function cloneAt(folder: string, remote?: string): string {
  mkdirSync(path.join(folder, '.git'), { recursive: true })
  const origin = remote ? `[remote "origin"]\n\turl = ${remote}\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n` : ''
  writeFileSync(
    path.join(folder, '.git/config'),
    `[core]\n\tbare = false\n${origin}[branch "main"]\n\tremote = origin\n`,
  )
  return folder
}
