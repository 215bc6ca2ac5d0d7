// The files of a release are the same to the byte, whoever builds the commit, where and when: two clones, in folders of
// different names, whose files have different times and modes. With its bill of materials, held against what the
// packages import. How it is signed and published needs GitHub: .github/workflows/release.yml, of which
// `npm run check` reads every step. And the image, with the base images of this machine; `--place DIR` keeps those.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { missingFor, startContainers } from '../robustness/containers.ts'
import { imageTwice } from '../robustness/image-twice.ts'
import { findPythons, toolsOf } from '../robustness/python-environments.ts'
import { type Report, reportOn } from '../world/report.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LONG_AGO = new Date('2001-02-03T04:05:06Z')
const BUILD_MS_MAX = 900_000
/** Base images and podman's store, for the next run. */
const KEPT = process.argv.includes('--place') ? process.argv[process.argv.indexOf('--place') + 1] : undefined
const PACKAGES = ['sdk', 'server', 'cli', 'adapters', 'materials']

await reportOn(async (report) => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-shipped-'))
  try {
    if (execFileSync('git', ['status', '--porcelain'], { cwd: ROOT }).length > 0)
      report.note('the last commit is built: this checkout has changes that are not in it')
    const [first, second] = [clone(place, 'one'), clone(place, 'another-folder')]
    makeOlder(second)
    const [python] = findPythons()
    const tools = python && (await toolsOf(path.join(ROOT, 'clients/python/requirements-dev.txt'), python))
    if (!tools) report.skip('wheels and sdists', 'no Python with venv is here')
    const wanted = [...PACKAGES, ...(tools ? ['wheels'] : [])]
    const [one, two] = [build(first, wanted, tools), build(second, wanted, tools)]
    const differ = [...new Set([...one.keys(), ...two.keys()])].filter((name) => one.get(name) !== two.get(name))
    const kinds = ['.tgz', '.whl', '.tar.gz', '.json'].map(
      (end) => `${[...one.keys()].filter((name) => name.endsWith(end)).length} ${end}`,
    )
    report.promise(
      'two builds of a commit are the same to the byte',
      differ.length === 0 && one.size >= (tools ? 24 : 6),
      differ.join() || kinds.join(', '),
    )
    // Before the second one is changed.
    await image(report, place, [first, second])
    sabotaged(report, second, one)
    materials(report, first)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

async function image(report: Report, place: string, folders: [string, string]): Promise<void> {
  const missing = missingFor()
  if (missing) return report.skip('the image', missing)
  await using containers = await startContainers(KEPT ?? path.join(place, 'containers'))
  await imageTwice(report, containers, folders)
}

function clone(place: string, name: string): string {
  const folder = path.join(place, name)
  execFileSync('git', ['clone', '-q', '--no-hardlinks', ROOT, folder])
  execFileSync('npm', ['ci', '--silent', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: BUILD_MS_MAX,
  })
  return folder
}

function makeOlder(folder: string): void {
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: folder, encoding: 'utf8' })
  for (const file of listed.split('\0').filter(Boolean)) utimesSync(path.join(folder, file), LONG_AGO, LONG_AGO)
}

/** By name, the digest of each file. */
function build(folder: string, wanted: string[], tools?: string): Map<string, string> {
  const env = { ...process.env, PATH: [...(tools ? [path.dirname(tools)] : []), process.env.PATH].join(path.delimiter) }
  execFileSync('npm', ['run', '--silent', 'build', '--', ...wanted], {
    cwd: folder,
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: BUILD_MS_MAX,
  })
  const dist = path.join(folder, 'dist')
  const shipped = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter(
    (name) => /\.tgz$|^wheels\/|\.cdx\.json$/.test(name) && statSync(path.join(dist, name)).isFile(),
  )
  return new Map(
    shipped.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(path.join(dist, name)))
        .digest('hex'),
    ]),
  )
}

/** A build that writes down when it was made, as many do. */
function sabotaged(report: Report, folder: string, before: Map<string, string>): void {
  appendFileSync(path.join(folder, 'sdk/loci.ts'), `\nexport const BUILT_AT = '${new Date().toISOString()}'\n`)
  const sdk = [...build(folder, ['sdk'])].find(([name]) => name.startsWith('locihq-sdk-'))
  report.mutant('a build that says when it was made', sdk && before.get(sdk[0]) !== sdk[1] ? 'it differs' : undefined)
}

function materials(report: Report, folder: string): void {
  const dist = path.join(folder, 'dist')
  const { components, dependencies } = JSON.parse(readFileSync(path.join(dist, 'loci.cdx.json'), 'utf8')) as {
    components: { 'bom-ref': string; name: string; version: string; purl?: string; hashes?: { content: string }[] }[]
    dependencies: { ref: string; dependsOn: string[] }[]
  }
  const listed = new Set(components.map(({ name, version }) => `${name}@${version}`))
  const needed = ['server', 'cli'].flatMap((name) => {
    const file = path.join(dist, name, 'package.json')
    const { dependencies: own = {} } = JSON.parse(readFileSync(file, 'utf8')) as {
      dependencies?: { [name: string]: string }
    }
    return Object.entries(own).filter(([one]) => !one.startsWith('@locihq/'))
  })
  const missing = needed.map(([name, version]) => `${name}@${version}`).filter((one) => !listed.has(one))
  const references = new Set(components.map((one) => one['bom-ref']))
  const loose = dependencies.flatMap(({ dependsOn }) => dependsOn).filter((one) => !references.has(one))
  const foreign = components.filter(({ purl }) => purl !== undefined)
  const bare = foreign.filter(({ hashes }) => !/^[0-9a-f]{128}$/.test(hashes?.[0]?.content ?? ''))
  report.promise(
    'the bill of materials names every package that the programs need, with its version and digest, and what each needs',
    missing.length === 0 && loose.length === 0 && bare.length === 0 && foreign.length > needed.length,
    [...missing, ...loose, ...bare.map(({ name }) => name)].join() ||
      `${foreign.length} packages, ${needed.length} of them named by ours`,
  )
}
