import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { testManagement } from '../testing/management.ts'

const PLACES = [
  '/services',
  '/services/new',
  '/s/my-agent',
  '/s/my-agent/memory/mem_1?db=ada',
  '/o/tokens',
  '/go/svc_1',
]
const SCRIPT = 'document.documentElement.dataset.scheme = "dark"'

/** As the build leaves it. */
function builtFolder() {
  const folder = mkdtempSync(path.join(tmpdir(), 'loci-console-'))
  const write = (name: string, bytes: string | Buffer) => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), bytes)
  }
  write('index.html', `<!doctype html><script>${SCRIPT}</script><script src="/console/assets/a-1.js"></script>`)
  write('assets/a-1.js', 'plain')
  write('assets/a-1.js.br', brotliCompressSync('plain'))
  write('assets/a-1.js.gz', gzipSync('plain'))
  write('assets/f-1.woff2', 'font')
  write('notes.md', 'of no kind that a browser loads')
  return { folder, write, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

// Mutants: `no-cache` left out of publish(); the hashes left out of policyOf().
test('the page of the console stands at each of its addresses, is asked for again each time, and may load from its own origin alone', async () => {
  using built = builtFolder()
  await using management = await testManagement({ consoleFolder: built.folder })
  for (const place of PLACES) {
    const answer = await management.get(place, { accept: 'text/html' })
    assert.equal(answer.status, 200, place)
    assert.match(answer.text, /a-1\.js/)
    assert.equal(answer.headers['cache-control'], 'no-cache')
    const policy = String(answer.headers['content-security-policy'])
    for (const directive of [
      `default-src 'self'`,
      `script-src 'self' 'sha256-${hash('sha256', SCRIPT, 'base64')}'`,
      `frame-ancestors 'none'`,
      `object-src 'none'`,
    ])
      assert.ok(policy.split('; ').includes(directive), policy)
    assert.doesNotMatch(policy, /unsafe|data:|https?:|\*/)
  }
  const { etag } = (await management.get('/services')).headers
  assert.equal((await management.get('/services', { 'if-none-match': String(etag) })).status, 304)
})

// Mutants: `immutable` left out; the first form taken whatever the browser accepts.
test('a file of the console may be kept for ever, in the best form that the browser takes', async () => {
  using built = builtFolder()
  await using management = await testManagement({ consoleFolder: built.folder })
  const load = (accept: string) => management.get('/console/assets/a-1.js', { 'accept-encoding': accept })
  for (const [accepted, coding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0', undefined],
    ['identity', undefined],
  ] as const) {
    const { status, headers } = await load(accepted)
    assert.deepEqual([status, headers['content-encoding']], [200, coding], accepted)
    assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal(headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(headers.vary, 'accept-encoding')
  }
  const font = await management.get('/console/assets/f-1.woff2')
  assert.deepEqual([font.headers['content-type'], font.headers.vary], ['font/woff2', undefined])
})

// Mutant: the file read from the folder by the path of the request.
test('nothing but the files of the build is served, whatever the path says', async () => {
  using built = builtFolder()
  built.write('../outside.js', 'secret')
  await using management = await testManagement({ consoleFolder: built.folder })
  for (const name of [
    'assets/b.js',
    'index.html',
    'notes.md',
    'assets/a-1.js.br',
    'assets/%2e%2e/%2e%2e/outside.js',
    'assets%2fa-1.js',
    'constructor',
  ]) {
    const { status } = await management.get(`/console/${name}`)
    assert.ok(status === 404 || status === 400, `${name}: ${status}`)
  }
})

// Mutant: builtConsole() without the comparison of `madeAt`.
test('a console that is built again is served at once', async () => {
  using built = builtFolder()
  await using management = await testManagement({ consoleFolder: built.folder })
  assert.match((await management.get('/services')).text, /a-1/)
  built.write('assets/a-2.js', 'newer')
  built.write('index.html', '<script src="/console/assets/a-2.js"></script>')
  const later = new Date(Date.now() + 5_000)
  utimesSync(path.join(built.folder, 'index.html'), later, later)
  assert.match((await management.get('/services')).text, /a-2/)
  assert.equal((await management.get('/console/assets/a-2.js')).text, 'newer')
})

// Mutant: notBuilt() answers 200.
test('where the console is not built its addresses say so on a plain page, and to programs by a code', async () => {
  await using management = await testManagement()
  for (const place of PLACES) {
    const shown = await management.get(place, { accept: 'text/html' })
    assert.equal(shown.status, 409)
    assert.match(shown.text, /<h1>The console is not built<\/h1>[\s\S]*npm run build -- console/)
    assert.equal((await management.get(place)).error.code, 'INVALID_STATE')
  }
})
