// The image of a release, built twice of one commit: in folders of different names, whose files have different times,
// with nothing kept from the first. As .github/workflows/release.yml does it, times are those of the commit.

import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Report } from '../world/report.ts'
import type { Containers } from './containers.ts'

const FILE = 'deploy/image/Dockerfile'

export async function imageTwice(report: Report, containers: Containers, folders: [string, string]): Promise<void> {
  const { images } = containers
  const [first] = folders
  const at = execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: first, encoding: 'utf8' }).trim()
  const bases = ['--build-arg', `NODE_IMAGE=${images.node}`, '--build-arg', `DEBIAN_IMAGE=${images.debian}`]
  const build = async (name: string, folder: string, file: string, more: string[] = []) => {
    // Podman writes names of its own containers into images of Docker's form, and into layers that it keeps.
    const fresh = [
      'build',
      '--pull=never',
      '--no-cache',
      '--format',
      'oci',
      '--layers=false',
      '--timestamp',
      at,
      '-t',
      name,
    ]
    const { code, stdout, stderr } = await containers.podman([...fresh, ...more, '-f', file, folder])
    if (code !== 0) throw new Error(`${name}: ${(stdout + stderr).replaceAll(/STEP .*/g, '').slice(-1_500)}`)
    const { stdout: told } = await containers.podman(['image', 'inspect', '-f', '{{.Digest}}', name])
    return told.trim()
  }
  const told: string[] = []
  for (const [n, folder] of folders.entries())
    told.push(await build(`localhost/loci:build-${n}`, folder, path.join(folder, FILE), bases))
  const [one = '', other] = told
  report.promise(
    'two builds of the image have the same digest',
    one.startsWith('sha256:') && one === other,
    [...new Set(told)].join(' and '),
  )
  const file = path.join(first, 'Dockerfile.dated')
  writeFileSync(file, `FROM localhost/loci:build-0\nUSER 0\nRUN date +%s%N > /built-at\n`)
  const dated = [await build('localhost/loci:dated', first, file), await build('localhost/loci:dated', first, file)]
  report.mutant('a build that writes down when it was made', dated[0] === dated[1] ? undefined : 'they differ')
}
