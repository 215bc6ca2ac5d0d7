// Patroni, etcd and PgBouncer as deploy/patroni wants them, which Debian 12 has in older versions: Patroni from PyPI,
// the other two from Debian 13 (etcd's programs run as they are, PgBouncer is built from its source). They are kept for
// the next run.

import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Readable for the user of PostgreSQL, who runs them. */
const FOLDER = '/var/cache/loci-ha'
const PATRONI = '4.1.5'
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const PACKAGES = [
  'libevent-dev',
  'libssl-dev',
  'pkg-config',
  'make',
  'gcc',
  'iptables',
  'iproute2',
  'openssl',
  'python3-venv',
]

export interface Software {
  patroni: string
  patronictl: string
  etcd: string
  pgbouncer: string
  haproxy: string
  versions: string
}

export function haveSoftware(): Software {
  if (!existsSync(FOLDER)) makeSoftware()
  const software = {
    patroni: join(FOLDER, 'venv/bin/patroni'),
    patronictl: join(FOLDER, 'venv/bin/patronictl'),
    etcd: join(FOLDER, 'debian/usr/bin/etcd'),
    pgbouncer: join(FOLDER, 'pgbouncer/pgbouncer'),
    haproxy: '/usr/sbin/haproxy',
  }
  const first = (program: string, argument: string) =>
    execFileSync(program, [argument], { encoding: 'utf8' }).split('\n')[0]
  const versions = [
    first(software.patroni, '--version'),
    first(software.etcd, '--version'),
    first(software.pgbouncer, '--version'),
    first(software.haproxy, '-v'),
  ].join(', ')
  return { ...software, versions }
}

function makeSoftware(): void {
  const making = `${FOLDER}.new`
  rmSync(making, { recursive: true, force: true })
  const apt = join(making, 'apt')
  for (const path of ['lists/partial', 'cache/archives/partial']) mkdirSync(join(apt, path), { recursive: true })
  // Where this machine has its packages from, there the next release is too.
  const targets = execFileSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' })
  const uri = targets.split('\n').find((line) => /debian\/?$/.test(line))
  const suite = `[signed-by=${KEYRING}] ${uri} trixie main\n`
  writeFileSync(join(apt, 'sources.list'), `deb ${suite}deb-src ${suite}`)
  const where = [
    `Dir::Etc::sourcelist=${apt}/sources.list`,
    'Dir::Etc::sourceparts=-',
    `Dir::State::lists=${apt}/lists`,
  ]
  const own = [...where, `Dir::Cache=${apt}/cache`, 'APT::Sandbox::User=root'].flatMap((option) => ['-o', option])
  run(making, 'apt-get', ['install', '-y', '--no-install-recommends', 'haproxy', ...PACKAGES])
  run(making, 'apt-get', [...own, 'update'])
  run(making, 'apt-get', [...own, 'download', 'etcd-server'])
  run(making, 'apt-get', [...own, 'source', '--download-only', 'pgbouncer'])
  const found = (end: string) => readdirSync(making).find((name) => name.endsWith(end)) as string
  run(making, 'dpkg', ['-x', found('.deb'), 'debian'])
  mkdirSync(join(making, 'pgbouncer'))
  run(making, 'tar', ['xzf', found('.orig.tar.gz'), '-C', 'pgbouncer', '--strip', '1'])
  run(join(making, 'pgbouncer'), './configure', ['--without-systemd'])
  run(join(making, 'pgbouncer'), 'make', ['-s'])
  // Its scripts name the folder, so it is made where it stays.
  renameSync(making, FOLDER)
  try {
    run(FOLDER, '/usr/bin/python3', ['-m', 'venv', 'venv'])
    run(FOLDER, join(FOLDER, 'venv/bin/pip'), [
      '-q',
      'install',
      `patroni[etcd3]==${PATRONI}`,
      'psycopg2-binary==2.9.13',
    ])
  } catch (error) {
    rmSync(FOLDER, { recursive: true, force: true })
    throw error
  }
}

function run(cwd: string, program: string, parameters: string[]): void {
  try {
    execFileSync(program, parameters, {
      cwd,
      stdio: 'pipe',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  } catch (error) {
    throw new Error(`${program} ${parameters.join(' ')}: ${(error as { stderr?: Buffer }).stderr}`, { cause: error })
  }
}
