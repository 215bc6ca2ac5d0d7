import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { test } from 'node:test'
import { type Command, runProgram, StartRefused } from './program.ts'
import { adminTokenDigests } from './setting-values.ts'
import { setting, sharedSettings } from './settings.ts'

const SETTINGS = {
  ...sharedSettings({ listen: '127.0.0.1:4410', concurrencyMax: '128' }),
  adminTokenDigests: setting({
    env: 'LOCI_ADMIN_TOKEN_DIGESTS',
    doc: 'SHA-256 of the admin token.',
    secret: true,
    parse: adminTokenDigests,
  }),
}

const ENV = {
  LOCI_DATABASE_URL: 'postgres://loci_daemon:hunter22@127.0.0.1/loci_cell',
  LOCI_ADMIN_TOKEN_DIGESTS: '0123456789abcdef'.repeat(4),
  LOCI_SEALING_KEYS: `test:${randomBytes(32).toString('base64')}`,
}

async function call(
  argv: string[],
  env: Record<string, string> = ENV,
  serve: Command<typeof SETTINGS>['run'] = async () => undefined,
) {
  const ran: string[] = []
  let out = ''
  let err = ''
  const code = await runProgram({
    program: 'daemon',
    settings: SETTINGS,
    version: '1.2.3',
    argv,
    env,
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
    commands: {
      serve: {
        summary: 'serve',
        run(config, args) {
          ran.push('serve')
          return serve(config, args)
        },
      },
      migrate: {
        summary: 'migrate',
        needs: ['databaseOwnerUrl'],
        without: ['databaseUrl', 'adminTokenDigests', 'sealingKeys'],
        async run(_config, args) {
          ran.push(`migrate ${args.join(' ')}`)
          return 0
        },
      },
    },
  })
  return { code, out, err, ran }
}

test('without a command the program serves, and has no exit code while it does', async () => {
  assert.deepEqual(await call([]), { code: undefined, out: '', err: '', ran: ['serve'] })
  assert.deepEqual((await call(['--queue-ms', '5'])).ran, ['serve'])
})

test('a command gets its own arguments and needs its own settings', async () => {
  const owner = { LOCI_DATABASE_OWNER_URL: 'postgres://loci_daemon_owner@127.0.0.1/loci_cell' }
  assert.deepEqual((await call(['migrate', 'to', '--fast'], owner)).ran, ['migrate to --fast'])
  const { code, err, ran } = await call(['migrate'], {})
  assert.deepEqual([code, ran], [78, []])
  assert.match(err, /LOCI_DATABASE_OWNER_URL is required/)
  assert.doesNotMatch(err, /LOCI_ADMIN_TOKEN_DIGESTS/)
})

test('a wrong configuration is exit 78 with every reason, and nothing runs', async () => {
  const { code, err, ran } = await call([], { LOCI_QUEUE_MS: 'x', LOCI_NOPE: '1' })
  assert.deepEqual([code, ran], [78, []])
  for (const name of ['LOCI_QUEUE_MS', 'LOCI_NOPE', 'LOCI_DATABASE_URL', 'LOCI_ADMIN_TOKEN_DIGESTS'])
    assert.match(err, new RegExp(`^  - ${name} `, 'm'))
})

test('surroundings in which it must not run are exit 78, and a bug is not', async () => {
  const refused = await call([], ENV, async () => {
    throw new StartRefused(['the role is a superuser', 'fsync is off'])
  })
  assert.equal(refused.code, 78)
  assert.equal(refused.err, 'daemon does not start:\n  - the role is a superuser\n  - fsync is off\n')
  await assert.rejects(
    call([], ENV, async () => {
      throw new Error('bug')
    }),
    /bug/,
  )
})

test('an unknown command or option is a wrong call', async () => {
  for (const [argv, name] of [
    [['sreve'], "no command 'sreve'"],
    [['--nonsense'], "'--nonsense' is not an option"],
    [['serve', 'x'], "'x' is not an option"],
  ] as const) {
    const { code, err, ran } = await call([...argv])
    assert.deepEqual([code, ran], [64, []])
    assert.ok(err.includes(name), err)
  }
})

test('--check-config tells and ends, --print-config shows without secrets, --help lists all', async () => {
  assert.deepEqual(await call(['--check-config']), { code: 0, out: 'the configuration is valid\n', err: '', ran: [] })
  assert.equal((await call(['--check-config'], {})).code, 78)
  const printed = await call(['--print-config'])
  assert.deepEqual([printed.code, printed.ran], [0, []])
  assert.match(printed.out, /^LOCI_LISTEN .*\(default\)$/m)
  assert.doesNotMatch(printed.out, /hunter22|0123456789abcdef/)
  const help = await call(['--help'], {})
  assert.equal(help.code, 0)
  for (const text of ['migrate', '--listen, LOCI_LISTEN', 'LOCI_TLS_KEY_FILE', '--print-config'])
    assert.ok(help.out.includes(text), text)
  assert.doesNotMatch(help.out, /--tls-key\b|LOCI_PUBLIC_URL/)
})

test('a secret on the command line is refused and not repeated', async () => {
  for (const argv of [['--database-url', 'postgres://a:hunter22@b/c'], ['--database-url=postgres://a:hunter22@b/c']]) {
    const { code, out, err, ran } = await call(argv)
    assert.deepEqual([code, ran], [78, []])
    assert.match(err, /--database-url would show a secret/)
    assert.doesNotMatch(out + err, /hunter22/)
  }
})

test('a port that is taken is told with who holds it, and ends with 69', async () => {
  const holder = createNetServer().listen(0, '127.0.0.1')
  await once(holder, 'listening')
  const { port } = holder.address() as AddressInfo
  const { code, err } = await call([], ENV, async () => {
    const second = createNetServer().listen(port, '127.0.0.1')
    const [error] = await once(second, 'error')
    throw error
  })
  holder.close()
  assert.equal(code, 69)
  const who =
    process.platform === 'linux' ? `process ${process.pid} \\(node[^)]*\\) holds it` : 'another process holds it'
  assert.match(
    err,
    new RegExp(`cannot listen on 127.0.0.1:${port} \\(EADDRINUSE\\): ${who}\\. End that one, or choose`),
  )
})

test('the help of a command is its own', async () => {
  const { code, out } = await call(['migrate', '--help'], {})
  assert.equal(code, 0)
  assert.equal(
    out,
    [
      'loci daemon 1.2.3',
      '',
      'migrate',
      '',
      'usage: node daemon/main.ts migrate',
      '',
      'It needs LOCI_DATABASE_OWNER_URL; NAME_FILE reads the value from a file.',
      'node daemon/main.ts --help lists every command and setting.',
      '',
    ].join('\n'),
  )
  assert.match((await call(['--help'], {})).out, /LOCI_LISTEN/)
  assert.equal((await call(['mirgate', '--help'], {})).code, 64)
})
