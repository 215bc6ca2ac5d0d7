// What Claude Code runs at each event: recalls before a prompt, sends for the store after an answer. Whatever happens
// to loci, the hook is gone within 250 ms of its start, says nothing of it, and ends with 0.

import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { noteProblem } from './kept.mjs'
import { databaseOf, isWanted } from './project.mjs'
import { recalled } from './recall.mjs'

/** By the clock of the process, which began before this file was read. */
const DEADLINE_MS = 250
/** Where the machine took as long to start us, loci still has a moment. */
const WAIT_MIN_MS = 80
/** Claude Code writes its message and closes; whoever does not is not waited for. */
const INPUT_MS = 2_000
const STORES = new Set(['Stop', 'PreCompact', 'SessionEnd'])
const RECALLS = new Set(['SessionStart', 'UserPromptSubmit'])

const env = process.env
let input = {}
setTimeout(() => process.exit(0), INPUT_MS).unref()
try {
  input = JSON.parse(await textOf(process.stdin))
  await run()
} catch (error) {
  noteProblem(env, input.hook_event_name, error.message)
}
process.exit(0)

async function run() {
  const event = input.hook_event_name
  const directory = env.CLAUDE_PROJECT_DIR || input.cwd || process.cwd()
  const database = databaseOf(env, directory)
  if (!database) throw new Error('LOCI_USER is no name of 1 to 64 of a-z, 0-9, _ and -')
  if (STORES.has(event) && isWanted(env, 'store')) beside(event, directory)
  if (!RECALLS.has(event) || !isWanted(env, 'recall')) return
  const ms = Math.max(WAIT_MIN_MS, DEADLINE_MS - performance.now())
  const late = new Promise((resolve) => setTimeout(resolve, ms, 'late'))
  const text = await Promise.race([recalled(env, input, database, directory, ms), late])
  if (text === 'late') {
    // What it waited for may be there for the next prompt.
    beside('warm', directory)
    throw new Error(`no answer within ${Math.round(ms)} ms`)
  }
  if (text === undefined) return
  const answer = { hookSpecificOutput: { hookEventName: event, additionalContext: text }, suppressOutput: true }
  await new Promise((resolve) => process.stdout.write(JSON.stringify(answer), resolve))
}

/** A process of its own group, which outlives the hook and the session. */
function beside(event, directory) {
  const work = { event, directory, session: input.session_id, transcript: input.transcript_path }
  const file = fileURLToPath(new URL('store.mjs', import.meta.url))
  spawn(process.execPath, [file, JSON.stringify(work)], { detached: true, stdio: 'ignore', windowsHide: true }).unref()
}

async function textOf(stream) {
  const chunks = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
