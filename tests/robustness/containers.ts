// Really builds and runs the image and compose.yaml, with podman behind the interface of Docker. Where no registry of
// images can be reached, the base images are made from Debian's and npm's packages: they stand in for the ones that the
// files name by digest.

import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const DEBIAN = 'docker.io/library/debian:bookworm-slim'
const NODE = 'docker.io/library/node:24-bookworm-slim'
const POSTGRES = 'docker.io/library/postgres:15'
/** As apt has them in Debian 12: podman with what it needs, and what makes a base image. */
const PACKAGES = 'podman runc debootstrap iptables catatonit golang-github-containernetworking-plugin-dnsname'.split(
  ' ',
)

export interface Containers extends AsyncDisposable {
  images: { node: string; debian: string; postgres: string }
  podman(args: readonly string[]): Promise<Ended>
  /** The plugin of Docker, against podman's socket. */
  compose(args: readonly string[], env?: Record<string, string>): Promise<Ended>
}

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

/** Why it cannot be run here, or undefined. */
export function missingFor(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'containers are run as root on Linux here'
  if (!existsSync('/usr/bin/apt-get')) return 'the base images are made from packages of Debian'
  return undefined
}

export async function startContainers(place: string): Promise<Containers> {
  mkdirSync(place, { recursive: true })
  if (spawnSync('podman', ['--version']).status !== 0 || spawnSync('debootstrap', ['--version']).status !== 0)
    await run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...PACKAGES], {
      DEBIAN_FRONTEND: 'noninteractive',
    })
  const conf = path.join(place, 'containers.conf')
  // Limits that a container in a container may set, and a runtime that knows both kinds of control groups.
  writeFileSync(
    conf,
    '[containers]\ndefault_ulimits = ["nofile=16384:16384", "nproc=16384:16384"]\n' +
      '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\n',
  )
  // Images of the other format have no health check.
  const env = { CONTAINERS_CONF: conf, BUILDAH_FORMAT: 'docker' }
  const at = ['--root', path.join(place, 'root'), '--runroot', path.join(place, 'run')]
  const podman = (args: readonly string[]) => call('podman', [...at, ...args], env)
  await makeBases(place, podman)
  await bringCompose(place)

  const socket = path.join(place, 'podman.sock')
  const service = spawn('podman', [...at, 'system', 'service', '--time=0', `unix://${socket}`], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  })
  while (!existsSync(socket)) {
    if (service.exitCode !== null) throw new Error(`podman's service ended with ${service.exitCode}`)
    await sleep(50)
  }
  const health = new AbortController()
  const driving = driveHealth(podman, health.signal)
  return {
    images: { node: NODE, debian: DEBIAN, postgres: POSTGRES },
    podman,
    compose: (args, more = {}) =>
      call(path.join(place, 'docker-compose'), args, {
        ...env,
        ...more,
        DOCKER_HOST: `unix://${socket}`,
        DOCKER_BUILDKIT: '0',
      }),
    async [Symbol.asyncDispose]() {
      health.abort()
      await driving
      await podman(['rm', '-af', '-t', '5'])
      await podman(['volume', 'prune', '-f'])
      await end(service)
    },
  }
}

/** Podman leaves health checks to timers of systemd; where none runs, nobody else would ask. */
async function driveHealth(podman: Containers['podman'], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { stdout } = await podman(['ps', '-q', '--filter', 'status=running'])
    for (const id of stdout.split('\n').filter(Boolean)) await podman(['healthcheck', 'run', id])
    await sleep(2_000, undefined, { signal }).catch(() => {})
  }
}

async function makeBases(place: string, podman: Containers['podman']): Promise<void> {
  const has = async (image: string) => (await podman(['image', 'exists', image])).code === 0
  const need = (what: string, { code, stderr }: Ended) => {
    if (code !== 0) throw new Error(`${what}: ${stderr.slice(-600)}`)
  }
  if (!(await has(DEBIAN))) {
    const tree = path.join(place, 'bookworm')
    const mirror = mirrorOfDebian()
    if (!existsSync(path.join(tree, 'etc/debian_version')))
      await run('debootstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', tree, ...mirror])
    // Those of this machine: a registry behind a proxy of its own is believed in a build as it is here.
    cpSync('/etc/ssl/certs/ca-certificates.crt', path.join(tree, 'etc/ssl/certs/ca-certificates.crt'))
    const tar = path.join(place, 'bookworm.tar')
    await run('tar', ['-C', tree, '-cf', tar, '.'])
    need('debian', await podman(['import', '-q', tar, DEBIAN]))
  }
  const build = async (image: string, name: string, files: Record<string, string>) => {
    const folder = path.join(place, name)
    mkdirSync(folder, { recursive: true })
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(folder, file), text)
    for (const file of Object.keys(files)) if (file.endsWith('.sh')) chmodSync(path.join(folder, file), 0o755)
    need(image, await podman(['build', '-q', '--pull=never', '-t', image, folder]))
  }
  if (!(await has(NODE))) {
    const folder = path.join(place, 'node')
    mkdirSync(folder, { recursive: true })
    cpSync(process.execPath, path.join(folder, 'node'))
    await run('npm', [
      'install',
      '--silent',
      '--no-save',
      '--ignore-scripts',
      '--prefix',
      path.join(folder, 'n'),
      'npm@11',
    ])
    await build(NODE, 'node', {
      Dockerfile: `FROM ${DEBIAN}
COPY node /usr/local/bin/node
COPY n/node_modules/npm /usr/local/lib/node_modules/npm
ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && node -v && npm -v
`,
    })
  }
  if (!(await has(POSTGRES)))
    await build(POSTGRES, 'postgres', { Dockerfile: POSTGRES_FILE, 'docker-entrypoint.sh': POSTGRES_START })
}

const POSTGRES_FILE = `FROM ${DEBIAN}
RUN printf '#!/bin/sh\\nexit 101\\n' >/usr/sbin/policy-rc.d && chmod +x /usr/sbin/policy-rc.d && apt-get update -q \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends postgresql-15 \\
 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15 && install -d -o postgres -g postgres -m 3777 /var/run/postgresql
ENV PATH=/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin
COPY docker-entrypoint.sh /usr/local/bin/
STOPSIGNAL SIGINT
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["postgres"]
`

/** What compose.yaml uses of the entrypoint that the image of the PostgreSQL project has, in its order. */
const POSTGRES_START = `#!/bin/bash
set -eu
[ -z "\${POSTGRES_PASSWORD_FILE:-}" ] || { POSTGRES_PASSWORD=$(cat "$POSTGRES_PASSWORD_FILE"); export POSTGRES_PASSWORD; unset POSTGRES_PASSWORD_FILE; }
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  find "$PGDATA" ! -user postgres -exec chown postgres '{}' +
  chown postgres /var/run/postgresql
  exec setpriv --reuid=postgres --regid=postgres --init-groups "$0" "$@"
fi
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  initdb -U postgres --pwfile=<(printf '%s\\n' "$POSTGRES_PASSWORD") -E UTF8 --locale=C.UTF-8 \${POSTGRES_INITDB_ARGS:-} >/dev/null
  PGPASSWORD=$POSTGRES_PASSWORD pg_ctl -w -o "-c listen_addresses=''" start >/dev/null
  pg_ctl -m fast -w stop >/dev/null
fi
unset POSTGRES_PASSWORD
exec "$@"
`

/** Debian 12 has the first compose alone; the program of Debian 13 runs there as it is. */
async function bringCompose(place: string): Promise<void> {
  const program = path.join(place, 'docker-compose')
  if (existsSync(program)) return
  const lists = path.join(place, 'lists')
  mkdirSync(path.join(lists, 'partial'), { recursive: true })
  const sources = path.join(place, 'trixie.list')
  const [mirror = 'http://deb.debian.org/debian'] = mirrorOfDebian()
  writeFileSync(sources, `deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror} trixie main\n`)
  const options = [`Dir::Etc::SourceList=${sources}`, 'Dir::Etc::SourceParts=/dev/null', `Dir::State::Lists=${lists}`]
  const apt = (args: string[]) =>
    execFileSync('apt-get', ['-q', ...options.flatMap((one) => ['-o', one]), ...args], { cwd: place, stdio: 'ignore' })
  apt(['update'])
  apt(['download', 'docker-compose'])
  const [file = ''] = readdirSync(place).filter((name) => /^docker-compose_2.*\.deb$/.test(name))
  await run('dpkg', ['-x', path.join(place, file), path.join(place, 'compose')])
  cpSync(path.join(place, 'compose/usr/libexec/docker/cli-plugins/docker-compose'), program)
}

/** The one that apt uses here, so that nothing is asked for elsewhere. */
function mirrorOfDebian(): string[] {
  const file = '/etc/apt/sources.list.d/debian.sources'
  const [, mirror] = /^URIs:\s*(\S+)/m.exec(existsSync(file) ? readFileSync(file, 'utf8') : '') ?? []
  return mirror === undefined ? [] : [mirror]
}

async function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<void> {
  const { code, stdout, stderr } = await call(program, args, env)
  if (code !== 0) throw new Error(`${program} ${args[0]} ended with ${code}: ${(stderr || stdout).slice(-600)}`)
}

async function call(program: string, args: readonly string[], env: Record<string, string>): Promise<Ended> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
    })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...said }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  const over = once(child, 'exit')
  child.kill('SIGTERM')
  await over
}
