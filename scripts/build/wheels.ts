// npm run build -- wheels: the Python client and the adapters of integrations/python, each as a wheel and an sdist in
// dist/wheels. flit_core, which they name as their build system, is taken from the Python on PATH and is not fetched.

import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

const CLIENT = 'clients/python'
const ADAPTERS = 'integrations/python'
const BUILD = 'import flit_core.buildapi as b, sys; b.build_wheel(sys.argv[1]); b.build_sdist(sys.argv[1])'
/** Wheels and sdists keep the times of files, so all files get this one: 1980 is the first year that a zip can hold. */
const SOURCE_DATE_EPOCH = '315532800'

/** The files, which two builds of a commit make to the byte. */
export function buildWheels(top: string, dist: string): string[] {
  if (spawnSync('python3', ['-c', 'import flit_core']).status !== 0)
    throw new Error('no flit_core: python3 -m pip install --require-hashes -r clients/python/requirements-dev.txt')
  rmSync(dist, { recursive: true, force: true })
  mkdirSync(dist, { recursive: true })
  const scratch = mkdtempSync(path.join(tmpdir(), 'loci-wheels-'))
  const listed = execFileSync('git', ['ls-files', '-z', CLIENT, ADAPTERS], { cwd: top, encoding: 'utf8' })
  const tracked = listed.split('\0').filter(Boolean)
  try {
    // Without what tests and editors leave beside the sources, and with one mode for every file.
    for (const file of tracked) {
      cpSync(path.join(top, file), path.join(scratch, file))
      chmodSync(path.join(scratch, file), 0o644)
    }
    for (const file of tracked.filter((name) => path.basename(name) === 'pyproject.toml')) {
      const cwd = path.join(scratch, path.dirname(file))
      const env = { ...process.env, SOURCE_DATE_EPOCH, PYTHONDONTWRITEBYTECODE: '1' }
      execFileSync('python3', ['-c', BUILD, dist], { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
  return readdirSync(dist)
    .sort()
    .map((name) => path.join(dist, name))
}
