// Schema-driven requests by schemathesis, a Python program.

import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pythonEnvironment } from '../world/python-environment.ts'

const VERSION = '4.32.5'
/**
 * Not `allow_header_conformance`: `batch` is a key too, so its path has more methods than the document says there. See
 * poison.ts.
 */
const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
  'response_headers_conformance',
  'unsupported_method',
]

const CONFIG = fileURLToPath(new URL('schemathesis.toml', import.meta.url))

export interface SchemathesisResult {
  isGood: boolean
  /** "275 generated, 275 passed" */
  figure: string
  output: string
}

/** Resolves with its command. */
export async function installSchemathesis(): Promise<string> {
  return join(await pythonEnvironment('schemathesis', VERSION), 'bin/st')
}

export async function runSchemathesis(
  command: string,
  url: string,
  { seed, examplesMax, headers }: { seed: number; examplesMax: number; headers: Record<string, string> },
): Promise<SchemathesisResult> {
  const { code, output } = await run(command, [
    `--config-file=${CONFIG}`,
    'run',
    `${url}/openapi.json`,
    `--checks=${CHECKS.join(',')}`,
    '--phases=examples,coverage,fuzzing',
    `--max-examples=${examplesMax}`,
    `--seed=${seed}`,
    // One: its workers are threads, and two that parse Python at once make CPython 3.11 fail ("AST constructor
    // recursion depth mismatch", a count that all threads share). Seen on a busy machine, with every generated case
    // passed.
    '--workers=1',
    '--request-timeout=10',
    '--continue-on-failure',
    '--generation-database=none',
    '--warnings=off',
    // They stream for ever, and schemathesis waits for the end. The poison list and the raw streams go there.
    '--exclude-path=/api/v1/events',
    '--exclude-path=/v1/events',
    '--no-color',
    ...Object.entries(headers).map(([name, value]) => `--header=${name}:${value}`),
  ])
  const figure = /Test cases:\s+(.+)/.exec(output)?.[1] ?? 'no summary'
  return { isGood: code === 0 && /\b[1-9]\d* passed/.test(figure), figure, output }
}

function run(file: string, args: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    child.once('error', (error) => resolve({ code: null, output: error.message }))
    child.once('close', (code) => resolve({ code, output }))
  })
}
