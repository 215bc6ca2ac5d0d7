// A Python environment with one package, for programs of other people that tests run. Kept for the next run. Tests run
// side by side and want the same one, so it is made under a lock that the kernel takes back when its holder dies.

import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `installed` is written last: what was cut off before is made again. */
const MAKE = `
[ -e "$1/installed" ] && exit 0
make() { python3 -m venv --clear "$1" >&2; }
if ! make "$1" && [ "$(id -u)" -eq 0 ]; then
  apt-get -qq update && apt-get -qq install -y --no-install-recommends python3 python3-venv
  make "$1"
fi
"$1/bin/pip" install --quiet --disable-pip-version-check "$2"
touch "$1/installed"`

/** Resolves with its folder; throws with what a person has to install. */
export async function pythonEnvironment(name: string, version: string): Promise<string> {
  const directory = join(tmpdir(), `loci-python-${name}-${version}`)
  const { code, output } = await run('flock', [
    `${directory}.lock`,
    ...['sh', '-euc', MAKE, 'sh', directory, `${name}==${version}`],
  ])
  if (code === 0) return directory
  throw new Error(`no Python environment with ${name} ${version}: install python3 and python3-venv (${output.trim()})`)
}

function run(file: string, args: string[]): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    child.once('error', (error) => resolve({ code: null, output: error.message }))
    child.once('close', (code) => resolve({ code, output }))
  })
}
