// Every workflow in .github/workflows keeps to these rules, and names only scripts and tests that exist. GitHub reports
// a wrong one only when it runs.

import path from 'node:path'
import { parseDocument } from 'yaml'
import type { Problem } from './layers.ts'
import type { Tree } from './source.ts'

interface Named {
  /** The scripts in package.json. */
  scripts: string[]
  /** The tests in tests/system. */
  systemTests: string[]
}

interface Step {
  [key: string]: unknown
  uses?: string
  run?: string
  with?: { [key: string]: unknown }
}

interface Job {
  [key: string]: unknown
  'timeout-minutes'?: unknown
  steps?: Step[]
}

const CLIENT = 'clients/python/pyproject.toml'
const INTERPRETERS = '.github/workflows/interpreters.yml'
const KEYS = {
  workflow: ['name', 'on', 'permissions', 'concurrency', 'env', 'jobs'],
  events: ['push', 'pull_request', 'schedule', 'workflow_dispatch'],
  job: ['name', 'needs', 'if', 'permissions', 'environment', 'strategy', 'runs-on', 'timeout-minutes', 'env', 'steps'],
  step: ['name', 'id', 'if', 'uses', 'with', 'run', 'env', 'working-directory'],
}
/** A tag can be moved to other code; a commit can not. */
const PINNED = /^[\w.-]+\/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/
/** Text that a stranger chooses (a branch, a title) would become part of the command. */
const STRANGE = /\$\{\{\s*(?:github\.(?:event|head_ref|ref_name|actor)|inputs)\b/

export function checkWorkflows(tree: Tree): Problem[] {
  const { scripts = {} } = JSON.parse(tree.get('package.json') ?? '{}') as { scripts?: object }
  const systemTests = [...tree.keys()].filter((file) => path.dirname(file) === 'tests/system')
  const named = { scripts: Object.keys(scripts), systemTests: systemTests.map((file) => path.basename(file, '.ts')) }
  const minors = [...(tree.get(CLIENT) ?? '').matchAll(/Python :: (3\.\d+)"/g)].map(([, minor]) => minor as string)
  return [...tree]
    .filter(([file]) => file.startsWith('.github/workflows/'))
    .flatMap(([file, text]) =>
      [...problemsOf(text, named), ...(file === INTERPRETERS ? missingOf(text, minors) : [])].map((problem) => ({
        path: file,
        line: 1,
        text: problem,
      })),
    )
}

/** Each in the list of a step, and in that of a matrix. */
function missingOf(text: string, minors: string[]): string[] {
  return minors
    .filter((minor) => !(new RegExp(`^ +${minor}$`, 'm').test(text) && text.includes(`'${minor}'`)))
    .map((minor) => `Python ${minor}, which ${CLIENT} names, is not run by it`)
}

function problemsOf(text: string, named: Named): string[] {
  const document = parseDocument(text, { version: '1.2', uniqueKeys: true })
  const broken = [...document.errors, ...document.warnings].map(({ message }) => message)
  if (broken.length > 0) return broken
  const workflow = document.toJS() as { [key: string]: unknown; on?: object; jobs?: { [id: string]: Job } }
  const problems = unknownOf('the workflow', workflow, KEYS.workflow)
  problems.push(...unknownOf('on', workflow.on ?? {}, KEYS.events))
  // Without the line a token may write to the whole repository.
  if (!workflow.permissions) problems.push('no permissions are set')
  for (const [, uses] of text.matchAll(/^\s*(?:- )?uses: (.*)$/gm))
    if (!PINNED.test(uses as string)) problems.push(`${uses} is not pinned to a commit with its version behind it`)
  const jobs = Object.entries(workflow.jobs ?? {})
  if (jobs.length === 0) problems.push('it has no jobs')
  for (const [id, job] of jobs) {
    problems.push(...unknownOf(id, job, KEYS.job))
    if (typeof job['timeout-minutes'] !== 'number') problems.push(`${id} has no deadline`)
    for (const step of job.steps ?? []) problems.push(...ofStep(`a step of ${id}`, step, named))
  }
  return problems
}

function ofStep(where: string, step: Step, { scripts, systemTests }: Named): string[] {
  const problems = unknownOf(where, step, KEYS.step)
  if ((step.uses === undefined) === (step.run === undefined)) problems.push(`${where} runs nothing, or two things`)
  if (step.uses?.startsWith('actions/checkout@') && step.with?.['persist-credentials'] !== false)
    problems.push(`${where} leaves its token in the checkout`)
  const run = step.run ?? ''
  if (STRANGE.test(run)) problems.push(`${where} puts what a stranger wrote into a command`)
  for (const [, script] of run.matchAll(/\bnpm run (?:--silent )?([\w:]+)/g))
    if (!scripts.includes(script as string)) problems.push(`${where}: there is no script ${script}`)
  for (const [, name] of run.matchAll(/\btest:system -- ([\w-]+)/g))
    if (!systemTests.includes(name as string)) problems.push(`${where}: there is no system test ${name}`)
  return problems
}

function unknownOf(where: string, found: object, known: string[]): string[] {
  return Object.keys(found)
    .filter((key) => !known.includes(key))
    .map((key) => `${where} has ${key}, which is none of ${known.join(', ')}`)
}
