// The image and compose.yaml, really built and run: no .env, a memory that is stored and recalled, each container
// killed, and what an image must not have. `--place DIR` keeps the base images for the next run.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Containers, missingFor, startContainers } from '../robustness/containers.ts'
import { type Report, reportOn } from '../world/report.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const IMAGE = 'localhost/loci:test'
const KEPT = process.argv.includes('--place') ? process.argv[process.argv.indexOf('--place') + 1] : undefined
/** Above what a loaded machine takes to start everything; a start that goes well waits for none of it. */
const READY_MS = 240_000
const OWN_BYTES_MAX = 200_000_000

await reportOn(async (report) => {
  const missing = missingFor()
  if (missing) return report.skip('image and compose', missing)
  digestsAreNamed(report)
  const place = KEPT ?? mkdtempSync(path.join(tmpdir(), 'loci-compose-'))
  try {
    await using containers = await startContainers(place)
    await built(report, containers)
    await ran(report, containers, place)
  } finally {
    if (!KEPT) rmSync(place, { recursive: true, force: true })
  }
})

/** The base images here stand in for these, so that they are named at all is looked at in the files. */
function digestsAreNamed(report: Report): void {
  const named = ['deploy/image/Dockerfile', 'compose.yaml'].flatMap((file) =>
    [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/docker\.io\/library\/(\S+?)(?=[}\s])/g)].map(
      ([, image = '']) => image,
    ),
  )
  const loose = named.filter((image) => !/@sha256:[0-9a-f]{64}$/.test(image))
  const text = loose.join() || named.map((image) => image.replace(/@.*/, '')).join(', ')
  report.promise('base images are named by digest', named.length === 3 && loose.length === 0, text)
}

async function built(report: Report, { podman, images }: Containers): Promise<void> {
  const bases = ['--build-arg', `NODE_IMAGE=${images.node}`, '--build-arg', `DEBIAN_IMAGE=${images.debian}`]
  const file = path.join(ROOT, 'deploy/image/Dockerfile')
  const startedAt = performance.now()
  const { code, stderr, stdout } = await podman(['build', '--pull=never', '-t', IMAGE, ...bases, '-f', file, ROOT])
  report.promise(
    'the image is built from the checkout',
    code === 0,
    code === 0
      ? `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`
      : (stdout + stderr).replaceAll(/STEP .*/g, '').slice(-1_500),
  )
  const sizeOf = async (image: string) =>
    Number((await podman(['image', 'inspect', '-f', '{{.Size}}', image])).stdout.trim())
  const [whole, base] = await Promise.all([sizeOf(IMAGE), sizeOf(images.debian)])
  report.promise(
    'what it adds to Debian is small',
    whole - base < OWN_BYTES_MAX,
    `${megabytes(whole - base)} on a base of ${megabytes(base)}`,
  )
  const history = (await podman(['history', '--no-trunc', IMAGE])).stdout
  const secret = /loci_(?:sk|adm)_\w{8}|BEGIN [A-Z ]*PRIVATE KEY|postgres:\/\/[^ ]*:[^ ]*@|_authToken/i
  const { stdout: env } = await podman(['image', 'inspect', '-f', '{{json .Config.Env}}', IMAGE])
  report.promise(
    'its history and its environment have no secret',
    history.length > 500 && !secret.test(history + env),
    `${history.split('\n').length} lines`,
  )
  report.mutant(
    'a key in a layer',
    secret.test(`${history}ENV KEY=loci_sk_0123456789abcdef`) ? 'it is seen' : undefined,
  )
  const inside = async (command: string) =>
    (await podman(['run', '--rm', '--read-only', '--cap-drop=all', '--network=none', IMAGE, 'sh', '-c', command]))
      .stdout
  const found = await inside(
    'id -u; command -v curl npm git gcc; find / -xdev -perm /6000 -type f -user root 2>/dev/null | wc -l; ' +
      'find /opt/loci/node_modules/@locihq -name "*.ts" ! -name "*.d.ts" | wc -l; find /opt/loci -writable ! -type l | wc -l; ' +
      'for program in loci loci-daemon loci-management; do $program --help | grep -c .; done',
  )
  const [uid, , typescript, writable, ...lines] = found.trim().split('\n')
  report.promise(
    'as uid 10001, without curl, npm or TypeScript, nothing of ours writable, and its three commands start',
    uid === '10001' &&
      typescript === '0' &&
      writable === '0' &&
      lines.length === 3 &&
      lines.every((count) => Number(count) > 5),
    found.trim().replaceAll('\n', ' | '),
  )
}

async function ran(report: Report, containers: Containers, place: string): Promise<void> {
  const { podman } = containers
  const [management, daemon, issuer] = [await freePort(), await freePort(), await freePort()]
  const override = path.join(place, 'override.yaml')
  // Only where it is reached from: 4400 may be somebody's here.
  const ports = [`127.0.0.1:${management}:4400`, `127.0.0.1:${daemon}:4410`, `127.0.0.1:${issuer}:4420`]
  writeFileSync(override, `services: { loci: { ports: !override ${JSON.stringify(ports)} } }\n`)
  const files = ['-p', 'locitest', '-f', path.join(ROOT, 'compose.yaml'), '-f', override]
  const compose = (args: string[]) =>
    containers.compose([...files, ...args], { LOCI_IMAGE: IMAGE, LOCI_POSTGRES_IMAGE: containers.images.postgres })
  const loci = (args: string[]) => compose(['exec', '-T', 'loci', 'loci', ...args])
  const isRecalled = async (text: string) =>
    (await loci(['memory', 'recall', text, '--user', 'ada'])).stdout.includes(text)

  try {
    const startedAt = performance.now()
    const up = await compose(['up', '--no-build', '-d', '--wait', '--wait-timeout', String(READY_MS / 1_000)])
    report.promise(
      'docker compose up --wait, with no .env, ends when all is healthy',
      up.code === 0,
      up.code === 0
        ? `${((performance.now() - startedAt) / 1_000).toFixed(0)} s`
        : `${up.stderr.slice(-600)}\n${(await compose(['logs', '--no-color'])).stdout.slice(-1_500)}`,
    )
    if (up.code !== 0) return
    const said = (await compose(['logs', '--no-color', 'loci'])).stdout
    const keys = said.match(/loci_sk_[\w-]+/g) ?? []
    report.promise('the API key is printed once', keys.length === 1, `${keys.length} times`)

    const stored = await loci(['memory', 'store', 'Ada prefers replies in Dutch', '--user', 'ada'])
    const recalled = await isRecalled('Ada prefers replies in Dutch')
    report.promise(
      'the command in the container stores and recalls',
      stored.code === 0 && recalled,
      (stored.stdout || stored.stderr).trim(),
    )
    const answer = await fetch(`http://127.0.0.1:${management}/api/v1/services`, {
      headers: { 'x-api-key': keys[0] ?? '' },
    })
    const refused = await fetch(`http://127.0.0.1:${management}/api/v1/services`)
    const ready = await fetch(`http://127.0.0.1:${daemon}/health/ready`)
    report.promise(
      'from the host the printed key opens management, and none does not; the daemon answers',
      answer.status === 200 && refused.status === 401 && ready.status === 200,
      `${answer.status}, ${refused.status}, ${ready.status}`,
    )
    await confined(report, compose)
    await signedIn(report, compose, issuer)

    for (const name of ['loci', 'postgres']) {
      const text = `The case ${name} was settled`
      const { code } = await loci(['memory', 'store', text, '--user', 'ada'])
      const id = (await compose(['ps', '-q', name])).stdout.trim()
      const pidOf = async () => Number((await podman(['inspect', '-f', '{{.State.Pid}}', id])).stdout.trim())
      const before = await pidOf()
      // The first process of the container, from outside: as a crash, which no one asked for.
      process.kill(before, 'SIGKILL')
      const killedAt = performance.now()
      const isThere = await again(async () => (await pidOf()) !== before && (await isRecalled(text)))
      report.promise(
        `${name} is killed with -9 right after a store, comes back by itself, and the memory is recalled`,
        code === 0 && isThere && (await isRecalled('Ada prefers replies in Dutch')),
        `${((performance.now() - killedAt) / 1_000).toFixed(0)} s`,
      )
    }
    const printed = ((await compose(['logs', '--no-color', 'loci'])).stdout.match(/loci_sk_[\w-]+/g) ?? []).length
    report.promise('after another start the key is not printed again', printed <= 1, `${printed} times in all`)
    report.mutant(
      'a case that was never stored',
      (await isRecalled('The case nowhere was settled')) ? undefined : 'it is not recalled',
    )
    const down = await compose(['down'])
    const again_ = await compose(['up', '--no-build', '-d', '--wait', '--wait-timeout', String(READY_MS / 1_000)])
    report.promise(
      'after docker compose down and up everything is there',
      down.code === 0 && again_.code === 0 && (await again(() => isRecalled('Ada prefers replies in Dutch'))),
      `${down.code}, ${again_.code}`,
    )
  } finally {
    await compose(['down', '-v', '-t', '20'])
  }
}

/**
 * By the addresses that the programs know each other by, which are those that compose.yaml publishes: so from inside.
 * The ports of this run are others.
 */
async function signedIn(
  report: Report,
  compose: (args: string[]) => Promise<{ code: number | null; stdout: string; stderr: string }>,
  issuerPort: number,
): Promise<void> {
  const browser = readFileSync(path.join(ROOT, 'cli/testing/sign-in.ts'), 'utf8')
  const signIn = async (code: string) => {
    const asked = `${browser}
const { status, url, cookie } = await signInWith('http://127.0.0.1:4400', ${JSON.stringify(code)})
const session = await fetch('http://127.0.0.1:4400/api/auth/session', { headers: { cookie } })
console.log(status, new URL(url).pathname, session.status)`
    const run = ['exec', '-T', 'loci', 'node', '--disable-warning=ExperimentalWarning']
    const { stdout, stderr } = await compose([...run, '--input-type=module-typescript', '-e', asked])
    return stdout.trim() || stderr.trim()
  }
  const { stdout } = await compose(['exec', '-T', 'loci', 'loci', 'up', 'code', '--json'])
  const { code } = (JSON.parse(stdout) as { data: { code: string } }).data
  const guessed = await signIn('AAAAA-AAAAA')
  const signed = await signIn(code)
  const again = await signIn(code)
  const published = await fetch(`http://127.0.0.1:${issuerPort}/.well-known/openid-configuration`)
  report.promise(
    'a person signs in with the code of loci up code, once; the issuer is published',
    signed === '200 /services 200' && published.status === 200,
    `${signed}; ${published.status}`,
  )
  report.mutant(
    'a guessed code, and the same one again',
    guessed.startsWith('400 ') && again.startsWith('400 ') ? `${guessed}; ${again}` : undefined,
  )
}

async function confined(
  report: Report,
  compose: (args: string[]) => Promise<{ code: number | null; stdout: string }>,
): Promise<void> {
  const inside = async (service: string, command: string) =>
    (await compose(['exec', '-T', service, 'sh', '-c', command])).stdout.trim()
  const caps = await inside('loci', 'grep CapEff /proc/1/status; grep NoNewPrivs /proc/1/status')
  const root = await inside('loci', 'touch /x 2>&1; touch /opt/loci/x 2>&1; touch /data/x && echo data && rm /data/x')
  report.promise(
    'loci runs with no capability, no new privileges and a root that cannot be written; its volume can',
    /CapEff:\s*0{16}\s+NoNewPrivs:\s*1/.test(caps) &&
      (root.match(/Read-only file system/g) ?? []).length === 2 &&
      root.endsWith('data'),
    `${caps} ${root}`.replaceAll(/\s+/g, ' '),
  )
  const sums = await inside('postgres', 'pg_controldata -D $PGDATA | grep checksum; touch /x 2>&1')
  report.promise(
    'PostgreSQL has checksums, and a root that cannot be written',
    /checksum version:\s+1/.test(sums) && sums.includes('Read-only file system'),
    sums.replaceAll(/\s+/g, ' '),
  )
  const open = await inside('postgres', 'psql -w -h /var/run/postgresql -U postgres -c "select 1" 2>&1')
  report.promise('PostgreSQL wants its password at the socket', /password|fe_sendauth/.test(open), open.slice(0, 120))
}

async function again(work: () => Promise<boolean>): Promise<boolean> {
  const endsAt = performance.now() + READY_MS
  for (;;) {
    if (await work().catch(() => false)) return true
    if (performance.now() > endsAt) return false
    await sleep(250)
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1_000_000)} MB`
}
