// docs/operations/install.md, pasted as it stands: a checkout that belongs to root, programs that run as somebody else
// who can only read it, and PostgreSQL with passwords. Names of the document's example become those of this machine.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '@loci/postgres/testing/free-port.ts'
import { startThrowaway, type Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { readDocument, shellOf } from '../world/blocks.ts'
import { type Report, reportOn } from '../world/report.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const DOCUMENT = 'docs/operations/install.md'
/** Nobody's: neither the owner of the checkout nor PostgreSQL's user. */
const UID = 61_117
/** With its end of line 32 bytes: each psql takes a whole buffer of them from the input, and leaves whole lines. */
const PASSWORD = 'a-password-of-this-test-abcdefg'

/** What a shell of this machine needs beside the document. */
const BEGINNING = `set -euo pipefail
touch $OUT/began
until_ready() { for turn in $(seq 600); do
  [ "$(curl -s -o /dev/null -w '%{http_code}' $1/health/ready)" = 200 ] && return 0
  kill -0 $2 2>/dev/null || { cat $OUT/*.log >&2; return 1; }
  sleep 0.2
done; cat $OUT/*.log >&2; return 1; }
`

/** What somebody does who has installed it. */
const FIRST_MEMORY = `
# A cell that has just joined may not be known yet: what is refused is asked again.
ask() { for turn in $(seq 100); do curl -sf "$@" && return 0; sleep 0.3; done; curl -s "$@" >&2; return 1; }
field() { node -p "JSON.parse(require('node:fs').readFileSync(0)).$1"; }
J='content-type: application/json'
KEY="x-api-key: $(field api_key <$OUT/bootstrap)"
TENANT=$(field tenant_id <$OUT/bootstrap)
SERVICE=$(ask -H "$KEY" -H "$J" $M/api/v1/services -d '{"service_type":"memory","name":"First"}' | field service_id)
OPERATION=$(ask -H "$KEY" $M/api/v1/services/$SERVICE | field operation_id)
for turn in 1 2 3; do
  [ "$(ask -H "$KEY" "$M/api/v1/operations/$OPERATION?wait=20" | field status)" = succeeded ] && break
done
CAP="x-loci-capability: $(ask -H "$KEY" -H "$J" $M/api/v1/tenants/$TENANT/tokens -d '{"service_id":"'$SERVICE'"}' | field token)"
ask -H "$CAP" -H "$J" $D/v1/memory/records -d '{"content":"Ada prefers replies in Dutch"}' >/dev/null
ask -H "$CAP" -H "$J" $D/v1/memory/recall -d '{"query":"which language for Ada?"}'
`

await reportOn(async (report) => {
  if (process.getuid?.() !== 0) return report.skip(DOCUMENT, 'another user is needed, and only root can be one')
  // Not in a directory of root alone: another user must come there.
  const place = mkdtempSync('/tmp/loci-install-')
  try {
    execFileSync('chmod', ['755', place])
    const checkout = copyOf(report, place)
    await using postgres = await startThrowaway()
    wantPasswords(postgres)
    await installed(report, { place, checkout, postgres })
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

/** What git has of the tree, with the modules that section 1 installs. */
function copyOf(report: Report, place: string): string {
  const checkout = path.join(place, 'checkout')
  mkdirSync(checkout)
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT })
  execFileSync('tar', ['-C', ROOT, '--null', '-T', '-', '-cf', path.join(place, 'tree.tar')], { input: files })
  execFileSync('tar', ['-C', checkout, '--no-same-owner', '-xf', path.join(place, 'tree.tar')])
  const { status, stderr } = spawnSync('bash', ['-euc', shellOf(DOCUMENT, '1. Code')], {
    cwd: checkout,
    env: { ...process.env, npm_config_prefer_offline: 'true' },
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  })
  execFileSync('chmod', ['-R', 'a+rX,go-w', checkout])
  const isThere =
    existsSync(path.join(checkout, 'node_modules/pg')) && !existsSync(path.join(checkout, 'node_modules/typescript'))
  report.promise(
    'section 1 installs what the programs need, and not what development needs',
    status === 0 && isThere,
    status === 0 ? `pg is there and typescript is not: ${isThere}` : stderr.slice(-400),
  )
  return checkout
}

/** The throwaway one believes everybody; here only its administrator, at the socket. */
function wantPasswords(postgres: Throwaway): void {
  const file = path.join(postgres.dataDirectory, 'pg_hba.conf')
  writeFileSync(file, 'local all postgres trust\nhost all all 127.0.0.1/32 scram-sha-256\n')
  execFileSync(path.join(postgres.binDirectory, 'pg_ctl'), ['reload', '-D', postgres.dataDirectory], {
    stdio: 'ignore',
    uid: Number(execFileSync('id', ['-u', 'postgres'], { encoding: 'utf8' })),
  })
  execFileSync('chmod', ['755', postgres.directory, postgres.socketDirectory])
}

interface Machine {
  place: string
  checkout: string
  postgres: Throwaway
}

async function installed(report: Report, { place, checkout, postgres }: Machine): Promise<void> {
  const own = path.join(place, 'own')
  for (const name of [own, path.join(own, 'cache')]) {
    mkdirSync(name, { mode: 0o700 })
    chownSync(name, UID, UID)
  }
  const [management, daemon] = [await freePort(), await freePort()]
  const [managementUrl, daemonUrl] = [`http://127.0.0.1:${management}`, `http://127.0.0.1:${daemon}`]
  // The example's names, in the order in which they are replaced; each must be there, or the document has moved on.
  const names: [string, string][] = [
    // Its shell is this one: PGUSER below is the administrator.
    ['sudo -u postgres -s\n', ''],
    ['/tmp/a.sql', `${own}/a.sql`],
    ['/tmp/b.sql', `${own}/b.sql`],
    ['/etc/loci', `${own}/etc`],
    ['/var/cache/loci', `${own}/cache`],
    ['<password>', PASSWORD],
    ['db.example', `127.0.0.1:${postgres.port}`],
    ['https://management.loci.example', managementUrl],
    ['https://cell-1.loci.example', daemonUrl],
    // On loopback and without a proxy.
    [
      'LOCI_LISTEN=0.0.0.0:4410 LOCI_TRUSTED_PROXIES=10.0.3.0/24 LOCI_REQUIRE_HTTPS=true',
      `LOCI_LISTEN=127.0.0.1:${daemon}`,
    ],
    [
      'LOCI_CELL_ID=cell_…',
      'LOCI_CELL_ID=$(node -p \'JSON.parse(require("node:fs").readFileSync(0)).cell_id\' <$OUT/cell)',
    ],
    // What they print is wanted here, and who serves must not keep the shell.
    ['--organization Acme\n', '--organization Acme >$OUT/bootstrap\n'],
    ['       # prints the cell_id', ' >$OUT/cell'],
    [
      '    node $FLAGS management/main.ts\n',
      `    LOCI_LISTEN=127.0.0.1:${management} node $FLAGS management/main.ts >$OUT/management.log 2>&1 & until_ready ${managementUrl} $!\n`,
    ],
    [
      '    node $FLAGS daemon/main.ts\n',
      `    node $FLAGS daemon/main.ts >$OUT/daemon.log 2>&1 & until_ready ${daemonUrl} $!\n`,
    ],
  ]
  const missing: string[] = []
  let text = `${readDocument(DOCUMENT)
    .filter(({ language, heading }) => language === 'sh' && /^[2-6]\. /.test(heading))
    .map(({ code, heading }) => `echo "== ${heading}" >&2\ncd ${checkout}\n${code.replaceAll(/^/gm, '    ')}`)
    .join('\n')}\n`
  for (const [name, here] of names) {
    if (!text.includes(name)) missing.push(name)
    text = text.replaceAll(name, here)
  }
  report.promise(
    'the document has every name of its example that is replaced here',
    missing.length === 0,
    missing.join() || `${names.length} names`,
  )
  // The Node that runs this may lie in the home of its owner.
  const bin = path.join(place, 'bin')
  mkdirSync(bin)
  cpSync(process.execPath, path.join(bin, 'node'))
  const out = path.join(place, 'out')
  mkdirSync(out)
  chownSync(out, UID, UID)
  const shell = startShell(
    `${BEGINNING}${text}${FIRST_MEMORY}`,
    {
      PATH: `${bin}:/usr/bin:/bin`,
      OUT: out,
      M: managementUrl,
      D: daemonUrl,
      PGHOST: postgres.socketDirectory,
      PGPORT: String(postgres.port),
      PGUSER: 'postgres',
      PGPASSWORD: '',
    },
    place,
  )
  try {
    const { code, output } = await shell.ended
    const recalled = /"results":\[\{[^\]]*"content":"Ada prefers replies in Dutch"/.test(output)
    report.promise(
      `as uid ${UID}, who owns nothing of the checkout, sections 2 to 6 lead to a recalled memory`,
      code === 0 && recalled,
      code === 0 ? `recalled ${recalled}` : output.slice(-900),
    )
    const files = execFileSync('find', [path.join(own, 'etc'), '-type', 'f', '-printf', '%m %U %f\n'], {
      encoding: 'utf8',
    })
    const open = files.split('\n').filter((line) => line !== '' && !line.startsWith(`600 ${UID} `))
    report.promise(
      'every secret is in a file for that user alone',
      files !== '' && open.length === 0,
      open.join() || `${files.trim().split('\n').length} files`,
    )
    const touched = execFileSync('find', [checkout, '-newer', path.join(out, 'began'), '-type', 'f'], {
      encoding: 'utf8',
    })
    report.promise('nothing is written into the checkout', touched === '', touched.slice(0, 200) || 'no file is newer')
    const refused = spawnSync(
      'psql',
      ['-w', '-h', '127.0.0.1', '-U', 'loci_daemon', '-d', 'loci_cell', '-c', 'select 1'],
      {
        env: { ...environment(), PGPORT: String(postgres.port), PGPASSWORD: 'another' },
        encoding: 'utf8',
      },
    )
    report.mutant('a login with another password', refused.status !== 0 ? refused.stderr.trim().slice(-60) : undefined)
    const sql = readDocument(DOCUMENT).filter(({ language }) => language === 'sql')
    const ran = spawnSync('psql', ['-v', 'ON_ERROR_STOP=1', '-c', sql.map(({ code: one }) => one).join('\n')], {
      env: { ...environment(), PGHOST: postgres.socketDirectory, PGPORT: String(postgres.port), PGUSER: 'postgres' },
      encoding: 'utf8',
    })
    report.promise(
      'the statements for PgBouncer are right',
      sql.length === 1 && ran.status === 0,
      ran.stderr.trim() || 'they run',
    )
  } finally {
    await shell.end()
  }
}

/** In a session of its own, where psql finds no terminal and asks its standard input for a password. */
function startShell(script: string, env: Record<string, string>, place: string) {
  const input = path.join(place, 'input')
  writeFileSync(input, `${PASSWORD}\n`.repeat(10_000))
  const child = spawn('setpriv', [`--reuid=${UID}`, `--regid=${UID}`, '--clear-groups', 'bash', '-c', script], {
    env: { ...environment(), ...env },
    stdio: [openSync(input, 'r'), 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  const streams = [child.stdout, child.stderr].filter((stream) => stream !== null)
  for (const stream of streams)
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const exited = once(child, 'exit') as Promise<[number | null]>
  return {
    ended: exited.then(([code]) => ({ code, output })),
    /** The programs too, which are of its group. */
    async end() {
      try {
        process.kill(-(child.pid as number), 'SIGTERM')
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
      await Promise.all(streams.map((stream) => (stream.closed ? undefined : once(stream, 'close'))))
    },
  }
}

function environment(): Record<string, string> {
  return { PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`, HOME: '/nonexistent' }
}
