// Interpreters of Python, and environments of them that hold nothing but what is put into them. The tools that check
// the Python client (clients/python/requirements-dev.txt, with their digests) are installed once, into a cache outside
// the checkout.

import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'

export interface Python {
  version: string
  program: string
}

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** Those that pyproject.toml names. */
export const MINORS = ['3.10', '3.11', '3.12', '3.13', '3.14']
const CACHE = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'loci')
const INSTALL_MS_MAX = 900_000
const BRING_MS_MAX = 180_000

/** Nothing of the caller's own environment of Python, and nothing written beside sources. */
const CLEAN = { PYTHONDONTWRITEBYTECODE: '1', PYTHONNOUSERSITE: '1', PIP_DISABLE_PIP_VERSION_CHECK: '1' }

/** Of each minor version the one that is here and can make environments. */
export function findPythons(): Python[] {
  const pyenv = path.join(process.env.PYENV_ROOT ?? path.join(homedir(), '.pyenv'), 'versions')
  const names = [
    'python3',
    ...MINORS.map((minor) => `python${minor}`),
    ...(existsSync(pyenv) ? readdirSync(pyenv).map((name) => path.join(pyenv, name, 'bin/python3')) : []),
  ]
  const found = new Map<string, Python>()
  for (const program of names) {
    const probe = 'import ensurepip, sys, venv; print("%d.%d.%d" % sys.version_info[:3]); print(sys.executable)'
    const { status, stdout } = spawnSync(program, ['-c', probe], { encoding: 'utf8' })
    const [version = '', executable = ''] = status === 0 ? stdout.trim().split('\n') : []
    const minor = version.split('.').slice(0, 2).join('.')
    if (MINORS.includes(minor) && !found.has(minor)) found.set(minor, { version, program: executable })
  }
  return [...found.values()]
}

/** By uv, into the cache; or why not. */
export function bringPython(tools: string, minor: string): Python | { missing: string } {
  const env = { ...process.env, ...CLEAN, UV_PYTHON_INSTALL_DIR: path.join(CACHE, 'pythons') }
  const uv = (...args: string[]) =>
    spawnSync(tools, ['-m', 'uv', ...args], { encoding: 'utf8', env, timeout: BRING_MS_MAX })
  const installed = uv('python', 'install', '--no-bin', minor)
  const { status, stdout, stderr } = uv('python', 'find', '--managed-python', minor)
  if (installed.status === 0 && status === 0) {
    const program = stdout.trim()
    const said = spawnSync(program, ['-c', 'import platform; print(platform.python_version())'], { encoding: 'utf8' })
    return { version: said.stdout.trim(), program }
  }
  const why = (installed.stderr || stderr || 'it took too long').trim().split('\n').at(-1)?.trim()
  return { missing: `uv could not bring it: ${why?.slice(0, 160).replaceAll(/https?:\/\/\S+/g, '…')}` }
}

/** The Python that has the tools. */
export async function toolsOf(requirements: string, python: Python): Promise<string> {
  const digest = createHash('sha256').update(readFileSync(requirements)).update(python.version).digest('hex')
  const folder = path.join(CACHE, `python-tools-${digest.slice(0, 16)}`)
  const program = path.join(folder, 'bin/python')
  if (existsSync(program)) return program
  mkdirSync(CACHE, { recursive: true })
  // On the same disk, so that the last step is a rename: two that run at once do not meet.
  const scratch = mkdtempSync(path.join(CACHE, 'python-tools-'))
  try {
    const made = await makeEnvironment(python, scratch)
    await must(made, ['-m', 'pip', 'install', '-q', '--require-hashes', '--only-binary', ':all:', '-r', requirements])
    renameSync(scratch, folder)
  } catch (error) {
    // Somebody else was first.
    if (!existsSync(program)) throw error
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  return program
}

/** With pip in it, and nothing else. */
export async function makeEnvironment({ program }: Python, folder: string): Promise<string> {
  await must(program, ['-m', 'venv', folder])
  return path.join(folder, 'bin/python')
}

export async function must(program: string, args: string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await runPython(program, args, { withinMs: INSTALL_MS_MAX, ...options })
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}: ${(stderr + stdout).slice(-800)}`)
  return stdout
}

export interface RunOptions {
  cwd?: string
  env?: { [name: string]: string }
  /** Far above what it takes on a loaded machine. */
  withinMs?: number
}

export function runPython(
  program: string,
  args: string[],
  { cwd, env, withinMs = INSTALL_MS_MAX }: RunOptions = {},
): Promise<Ran> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...CLEAN, ...env },
      ...(cwd === undefined ? {} : { cwd }),
    })
    let [stdout, stderr] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const timer = setTimeout(() => child.kill('SIGKILL'), withinMs)
    child.on('error', reject)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, stdout, stderr })
    })
  })
}
