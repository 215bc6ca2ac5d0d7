import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { selfSigned } from '@loci/chassis/testing/certificate.ts'
import { askedBy } from '../testing/oauth.ts'
import { signInWorld } from '../testing/sign-in.ts'
import { createClientDocuments, isPublicAddress, resolveName } from './documents.ts'

const HOST = 'client.example'

/** A site of a client, whose name leads to loopback: which its reach allows, unlike that of a running management. */
async function clientSite(handle: (request: IncomingMessage, response: ServerResponse) => void) {
  const heard: string[] = []
  const { cert, key } = selfSigned(HOST)
  const server = createServer({ cert, key }, (request, response) => {
    heard.push(String(request.url))
    handle(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const reach = {
    resolve: async () => [{ address: '127.0.0.1', family: 4 }],
    isAllowed: () => true,
    ...{ port, ca: cert },
  }
  return {
    reach,
    heard,
    id: (path: string) => `https://${HOST}:${port}${path}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('addresses of private, local, shared, mapped and tunnelled networks are not public', () => {
  for (const address of [
    ...['127.0.0.1', '10.1.2.3', '172.16.0.1', '172.31.255.255', '192.168.1.1', '169.254.169.254', '100.64.0.1'],
    ...['0.0.0.0', '192.0.0.1', '198.18.0.1', '224.0.0.1', '255.255.255.255', '::', '::1', 'fe80::1', 'fc00::1'],
    ...['::ffff:127.0.0.1', '::ffff:8.8.8.8', '64:ff9b::7f00:1', '2002:7f00:1::', '2001::1', '2001:db8::1', 'x', ''],
  ])
    assert.ok(!isPublicAddress(address), address)
  for (const address of ['8.8.8.8', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450::1'])
    assert.ok(isPublicAddress(address), address)
})

const REDIRECTS = { redirect_uris: ['https://c.example/done'] }

// Mutants: the status, the type, the size, the kept refusal not looked at; the text not raced with the time.
test('a client’s document is read once, and only if it is small, prompt, JSON, of its own address and not led elsewhere', async () => {
  const type = { 'content-type': 'application/json' }
  const good = (id: string, change: object = {}) => JSON.stringify({ client_id: id, ...REDIRECTS, ...change })
  // Each is good but for one thing, and refused for that.
  const documents: Record<string, [RegExp, (response: ServerResponse, id: string) => void]> = {
    '/other': [/not its own address/, (response, id) => response.writeHead(200, type).end(good(`${id}x`))],
    '/secret': [
      /token_endpoint_auth_method is not none/,
      (response, id) =>
        response.writeHead(200, type).end(good(id, { token_endpoint_auth_method: 'client_secret_post' })),
    ],
    '/nowhere': [
      /no redirect_uris/,
      (response, id) =>
        response.writeHead(200, type).end(good(id, { redirect_uris: ['http://c.example/', 'app://x', 'https://*/x'] })),
    ],
    '/large': [
      /larger than 64 KiB/,
      (response, id) => response.writeHead(200, type).end(good(id, { filler: 'x'.repeat(64 * 1024) })),
    ],
    '/page': [/200 and JSON/, (response, id) => response.writeHead(200, { 'content-type': 'text/html' }).end(good(id))],
    '/broken': [/no JSON/, (response) => response.writeHead(200, type).end('{')],
    '/redirect': [
      /200 and JSON/,
      (response, id) => response.writeHead(302, { ...type, location: '/good' }).end(good(id)),
    ],
    '/silent': [/could not be read/, () => {}],
    '/upgrade': [
      /could not be read/,
      ({ socket }) => socket?.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'),
    ],
    // Its beginning comes in time, and the rest would come for as long as it likes.
    '/dripping': [
      /could not be read/,
      (response, id) => {
        const dripping = setInterval(() => response.write(' '), 200)
        response.once('close', () => clearInterval(dripping))
        response.writeHead(200, type).write(good(id))
      },
    ],
  }
  await using site = await clientSite((request, response) => {
    const path = String(request.url)
    const id = `https://${request.headers.host}${path}`
    if (path === '/good') response.writeHead(200, type).end(good(id, { client_name: 'No\u202etes' }))
    else documents[path]?.[1](response, id)
  })
  const found = createClientDocuments(site.reach)
  const read = await Promise.all([1, 2, 3].map(() => found.find(site.id('/good'), 'ada')))
  await found.find(site.id('/good'), 'ada')
  assert.deepEqual(read[0], { id: site.id('/good'), name: 'Notes', redirectUris: REDIRECTS.redirect_uris })
  assert.deepEqual(site.heard, ['/good'])
  for (const [path, [why]] of Object.entries(documents))
    await assert.rejects(found.find(site.id(path), 'ada'), why, path)
  await assert.rejects(found.find(site.id('/page'), 'ada'), /200 and JSON/)
  assert.equal(site.heard.filter((path) => path === '/page').length, 1, 'a refusal is kept too')
  assert.equal(site.heard.filter((path) => path === '/good').length, 1, 'a redirect is not followed')
})

// Mutant: AT_ONCE_OF_ONE_MAX not looked at.
test('a person whose addresses never answer keeps nobody else waiting', async () => {
  await using site = await clientSite((request, response) => {
    if (request.url === '/good')
      json(response, { client_id: `https://${request.headers.host}${request.url}`, ...REDIRECTS })
  })
  const found = createClientDocuments(site.reach)
  const silent = Array.from({ length: 20 }, (_, at) =>
    found.find(site.id(`/silent-${at}`), 'mallory').then(
      () => '',
      ({ code }) => code,
    ),
  )
  assert.equal((await found.find(site.id('/good'), 'ada')).id, site.id('/good'))
  const codes = await Promise.all(silent)
  assert.equal(codes.filter((code) => code === 'OVERLOADED').length, 18)
})

// Mutant: `size` of keep() left out.
test('what is kept of documents is bounded by how long they are', async () => {
  const redirect_uris = Array.from({ length: 20 }, (_, at) => `https://c.example/${String(at).padEnd(1_900, 'x')}`)
  await using site = await clientSite((request, response) =>
    json(response, { client_id: `https://${request.headers.host}${request.url}`, redirect_uris }),
  )
  const found = createClientDocuments(site.reach)
  for (let at = 0; at < 120; at += 1) await found.find(site.id(`/${at}`), 'mallory')
  await found.find(site.id('/119'), 'mallory')
  assert.equal(site.heard.filter((path) => path === '/119').length, 1)
  await found.find(site.id('/0'), 'mallory')
  assert.equal(site.heard.filter((path) => path === '/0').length, 2, 'the oldest has made room')
})

// Mutant: `every` of the addresses becomes `some`.
test('a name that leads to an inner address beside a public one is refused, and one that changes is connected to as it was looked at', async () => {
  await using site = await clientSite((request, response) =>
    json(response, { client_id: `https://${request.headers.host}${request.url}`, ...REDIRECTS }),
  )
  const [outer, inner] = [
    { address: '8.8.8.8', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ]
  for (const both of [[outer, inner], [inner, outer], [inner], []]) {
    const found = createClientDocuments({ ...site.reach, isAllowed: isPublicAddress, resolve: async () => both })
    await assert.rejects(found.find(site.id('/c'), 'ada'), /public addresses/)
  }
  assert.deepEqual(site.heard, [])
  let asked = 0
  const changing = async () => {
    asked += 1
    return [asked === 1 ? inner : { address: '127.0.0.2', family: 4 }]
  }
  const found = createClientDocuments({ ...site.reach, isAllowed: (one) => one === '127.0.0.1', resolve: changing })
  assert.equal((await found.find(site.id('/c'), 'ada')).id, site.id('/c'))
  assert.equal(asked, 1)
})

test('a name whose server does not answer is given up, and then leads nowhere', async () => {
  const silent = createSocket('udp4')
  await new Promise<void>((resolve) => silent.bind(0, '127.0.0.1', resolve))
  try {
    assert.deepEqual(await resolveName(HOST, [`127.0.0.1:${silent.address().port}`]), [])
  } finally {
    silent.close()
  }
})

test('a running management fetches nothing from names and addresses of its own network', async () => {
  await using world = await signInWorld()
  const refused = async (id: string) => {
    const { status, headers } = await world.management.ask(askedBy(id).line)
    assert.deepEqual([status, headers.location], [400, undefined], id)
  }
  for (const id of [
    ...[
      'https://127.0.0.1/client',
      'https://[::1]/client',
      'https://localhost/client',
      'https://169.254.169.254/latest',
    ],
    ...[
      'http://client.example/c',
      'https://client.example/',
      'https://client.example/c#x',
      'https://client.example/c?x',
    ],
    ...[
      'https://client.example:8443/c',
      'https://a:b@client.example/c',
      'https://client.example/a/../c',
      'file:///etc/passwd',
    ],
    ...['https://0x7f.1/c', 'https://2130706433/c', `https://client.example/${'c'.repeat(600)}`, 'x', ''],
  ])
    await refused(id)
})

function json(response: ServerResponse, body: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
