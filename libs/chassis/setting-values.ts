// What a setting may be: each function takes the text of the environment and answers its value, or throws an Error
// whose message ends the sentence "LOCI_X …".

import { createPrivateKey, createPublicKey } from 'node:crypto'
import { isIP } from 'node:net'
import { isRegionName } from '@loci/contract/services.ts'
import { addressSet, coversEveryone, isLoopback } from './addresses.ts'

export interface SealingKey {
  id: string
  key: Buffer
}

const SEALING_KEYS_MAX = 4

export function sealingKeys(text: string): SealingKey[] {
  const keys = list(text).map((entry) => {
    const [, id, encoded] = /^([a-z0-9-]{1,32}):([A-Za-z0-9+/_-]{43}=?)$/.exec(entry) ?? []
    if (!id || !encoded)
      throw new Error(
        'must be `<id>:<base64 of 32 bytes>`, such as `2026-11:…`: make one with `openssl rand -base64 32`',
      )
    return { id, key: Buffer.from(encoded, 'base64') }
  })
  if (keys.length < 1 || keys.length > SEALING_KEYS_MAX) throw new Error(`must hold 1 to ${SEALING_KEYS_MAX} keys`)
  if (new Set(keys.map(({ id }) => id)).size < keys.length) throw new Error('has an id twice')
  if (keys.some(({ key }) => isWeakKey(key)))
    throw new Error('has a key that is not random: make one with `openssl rand -base64 32`')
  return keys
}

/** 32 random bytes have fewer than 16 different values, or are all printable, less than once in 10^13 times. */
function isWeakKey(key: Buffer): boolean {
  return new Set(key).size < 16 || key.every((byte) => byte >= 0x20 && byte < 0x7f)
}

export function cellId(text: string): string {
  if (!/^cell_[0-9a-hjkmnp-tv-z]{26}$/.test(text))
    throw new Error('must be the cell_… id that `management cells add` answered')
  return text
}

export function privateJwk(text: string): { kty: 'OKP'; crv: 'Ed25519'; x: string; d: string } {
  try {
    const { kty, crv, x, d } = JSON.parse(text)
    // Node makes the public half from d and does not look at x; management knows the cell by x.
    const made = createPublicKey(createPrivateKey({ key: { kty, crv, x, d }, format: 'jwk' })).export({ format: 'jwk' })
    if (crv === 'Ed25519' && made.x === x) return { kty, crv, x, d }
  } catch {
    // Said below; the reason of a library could repeat the key.
  }
  throw new Error('must be a private Ed25519 JWK: {"kty":"OKP","crv":"Ed25519","x":…,"d":…}')
}

export function jwtPublicKey(text: string): string {
  const { type, curve, bits = 0 } = publicKeyFacts(text)
  if (type === 'rsa' && bits < RSA_BITS_MIN)
    throw new Error(`is an RSA key of ${bits} bits, which can be broken; use one of ${RSA_BITS_MIN} bits or more`)
  if (type === 'ed25519' || type === 'rsa' || (type === 'ec' && curve === 'prime256v1')) return text
  throw new Error('must be PEM of a public key of type Ed25519, RSA or EC P-256; name a file with the suffix _FILE')
}

/** RFC 7518, 3.3. */
const RSA_BITS_MIN = 2048

function publicKeyFacts(text: string): { type?: string | undefined; curve?: string; bits?: number } {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPublicKey(text)
    const { namedCurve: curve, modulusLength: bits } = details ?? {}
    return { type, ...(curve ? { curve } : {}), ...(bits ? { bits } : {}) }
  } catch {
    return {}
  }
}

export function nonEmpty(text: string): string {
  if (text === '') throw new Error('must not be empty')
  return text
}

export function listenAddress(text: string): { host: string; port: number } {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:]+):(\d{1,5})$/.exec(text)
  const host = match?.[1]?.replace(/^\[|\]$/g, '') ?? ''
  const port = Number(match?.[2])
  if (!match || port > 65_535 || (isIP(host) === 0 && host !== 'localhost'))
    throw new Error('must be an address and a port, such as 0.0.0.0:4410 or [::1]:4410')
  return { host, port }
}

export function secureUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (
    !url ||
    !/^https?:$/.test(url.protocol) ||
    url.username ||
    url.password ||
    url.pathname !== '/' ||
    url.search ||
    url.hash
  ) {
    throw new Error('must be an origin such as https://loci.example')
  }
  if (url.protocol === 'http:' && !isLoopback(url.hostname))
    throw new Error('must be https: plain http is for loopback only')
  return url.origin
}

/** As it stands in the tokens of the provider: to the letter, so nothing of it is normalised. */
export function issuerUrl(text: string): string {
  const url = readUrl(text)
  if (!url || url.search || url.hash) throw new Error('must be a URL such as https://id.example/realms/loci')
  requireTls(url)
  return text
}

/** Compared to the letter too. */
export function redirectUris(text: string): string[] {
  const entries = list(text)
  if (entries.length === 0) throw new Error('must name at least one URL')
  for (const entry of entries) {
    const url = readUrl(entry)
    if (!url || url.hash)
      throw new Error(`has '${entry.slice(0, 100)}', which is no URL such as https://loci.example/signed-in`)
    requireTls(url)
  }
  return entries
}

/** `openid`, without which there is no person; the others as the provider names them. */
export function scopes(text: string): string {
  const named = text.split(/\s+/).filter((one) => one !== '')
  if (!named.every((one) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(one)) || !named.includes('openid'))
    throw new Error('must be scopes with blanks between, openid among them')
  return named.join(' ')
}

/** One that cannot be guessed: whoever has it is this installation to the provider. */
export function clientSecret(text: string): string {
  if (!/^[\x21-\x7e]+$/.test(text)) throw new Error('must be visible ASCII characters')
  if (text.length < SECRET_LENGTH_MIN || new Set(text).size < 10)
    throw new Error('can be guessed: let the provider make a longer one')
  return text
}

function readUrl(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url && /^https?:$/.test(url.protocol) && !url.username && !url.password ? url : undefined
}

function requireTls({ protocol, hostname }: URL): void {
  if (protocol === 'http:' && !isLoopback(hostname)) throw new Error('must be https: plain http is for loopback only')
}

/** TLS with a verified certificate is not optional: off this machine it is the only way (see libs/postgres). */
export function databaseUrl(text: string): string {
  // Several servers with one login, of which one is the primary: each must be as one alone.
  const {
    before = '',
    places = '',
    after = '',
  } = /^(?<before>postgres(?:ql)?:\/\/[^/?#@]*@)(?<places>[^/?#@]*)(?<after>.*)$/s.exec(text)?.groups ?? {}
  if (places.includes(',')) {
    for (const place of places.split(',')) oneServer(`${before}${place || ' '}${after}`)
    return text
  }
  return oneServer(text)
}

function oneServer(text: string): string {
  // libpq's form for a unix socket has no host at all (postgres://role@/database?host=/directory), which no URL may
  // have.
  const parseable = text.replace(/^(postgres(?:ql)?:\/\/[^/?@]*@)(?=\/)/, '$1localhost')
  const url = URL.canParse(parseable) ? new URL(parseable) : undefined
  if (!url || !/^postgres(ql)?:$/.test(url.protocol))
    throw new Error('must be a URL such as postgres://loci_daemon@127.0.0.1:5432/loci_cell')
  if (!/^([^%]|%[0-9a-fA-F]{2})*$/.test(text))
    throw new Error('has a % that is not followed by two hex digits: write %25')
  if (url.username === '') throw new Error('must name the role: postgres://loci_daemon@…')
  if (url.pathname.length < 2) throw new Error('must name the database: postgres://…/loci_cell')
  const host = url.searchParams.get('host') ?? url.hostname
  if (host.includes(',')) throw new Error('names several hosts: write postgres://role@one:5432,two:5432/database')
  if (!/^\d{0,5}$/.test(url.searchParams.get('port') ?? '')) throw new Error('has a port that is not a number')
  const local = host.startsWith('/') || host.startsWith('%2F') || isLoopback(host)
  const mode = url.searchParams.get('sslmode')
  if (!local && mode !== null && mode !== 'verify-full')
    throw new Error(`has sslmode=${mode}: off loopback only verify-full is accepted, and it is the default`)
  if (!local && (url.searchParams.get('ssl') === 'false' || url.searchParams.get('uselibpqcompat') === 'true')) {
    throw new Error('switches verified TLS off: remove ssl and uselibpqcompat from the URL')
  }
  return text
}

export function pem(kind: string): (text: string) => string {
  return (text) => {
    if (!new RegExp(`-----BEGIN [A-Z ]*${kind}-----`).test(text))
      throw new Error(`must be PEM with a ${kind}; name a file with the suffix _FILE`)
    return text
  }
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < min || Number(text) > max)
      throw new Error(`must be a whole number from ${min} to ${max}`)
    return Number(text)
  }
}

export function boolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new Error('must be true or false')
  return text === 'true'
}

export function oneOf<const Value extends string>(...values: Value[]): (text: string) => Value {
  return (text) => {
    if (!values.includes(text as Value)) throw new Error(`must be one of ${values.join(', ')}`)
    return text as Value
  }
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
}

function cidrs(text: string): string[] {
  const entries = list(text)
  addressSet(entries)
  return entries
}

export function proxies(text: string): string[] {
  const entries = list(text)
  if (coversEveryone(entries))
    throw new Error('trusts every address: name the addresses of your own proxies, such as 10.0.3.0/24')
  return cidrs(text)
}

/** Address and token are two locks; a list that lets everybody in leaves one. */
export function allowlist(text: string): string[] {
  if (coversEveryone(list(text)))
    throw new Error('allows every address: name the addresses of your operators, such as 10.0.9.0/24')
  return cidrs(text)
}

/** `reserved`: paths that the program has already. */
export function pathSegment(reserved: ReadonlySet<string>): (text: string) => string {
  return (text) => {
    if (!/^[a-z0-9][a-z0-9-]{0,62}$/.test(text)) throw new Error('must be one path segment of a-z, 0-9 and -')
    if (reserved.has(text)) throw new Error(`is '${text}', which another path of this program uses already`)
    return text
  }
}

/** Digests of common weak passwords: a digest hides the weakness unless we compare. */
const WEAK_DIGESTS = new Map([
  ['e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'the empty text'],
  ['8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918', 'admin'],
  ['5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8', 'password'],
  ['2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b', 'secret'],
  ['057ba03d6c44104863dc7361fe4578965d1887360f90a0895882e58a6248fc86', 'changeme'],
  ['3c469e9d6c5875d37a43f353d4f88e61fcf812c66eee3457465a40b0da4153e0', 'token'],
  ['8d969eef6ecad3c29a3a629280e686cf0c3f5d5a86aff3ca12020c923adc6c92', '123456'],
  ['9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08', 'test'],
])

export function adminTokenDigests(text: string): Buffer[] {
  const digests = list(text)
  if (digests.length < 1 || digests.length > 2) throw new Error('must hold one digest, or two while rotating')
  for (const digest of digests) {
    if (!/^[0-9a-f]{64}$/.test(digest)) throw new Error('must be SHA-256 in 64 hex digits, not the token itself')
    const weak = WEAK_DIGESTS.get(digest)
    if (weak !== undefined || /^(.)\1*$/.test(digest))
      throw new Error(
        `is the digest of a weak token (${weak ?? 'a filler'}): make one with \`node daemon/main.ts admin-token\``,
      )
  }
  return digests.map((digest) => Buffer.from(digest, 'hex'))
}

const SECRET_LENGTH_MIN = 24

/** Two at most, so that one can be replaced without a gap; none = what they are for is not configured. */
export function secrets(text: string): string[] {
  const entries = list(text)
  if (entries.length > 2) throw new Error('must hold at most two secrets')
  for (const entry of entries) {
    if (!/^[\x21-\x7e]+$/.test(entry)) throw new Error('must be visible ASCII characters')
    if (entry.length < SECRET_LENGTH_MIN || new Set(entry).size < 10)
      throw new Error(
        `has a secret that can be guessed: make one of at least ${SECRET_LENGTH_MIN} random characters with \`openssl rand -base64 32\``,
      )
  }
  return entries
}

export function signingSecrets(text: string): Buffer[] {
  const entries = list(text)
  if (entries.length > 2) throw new Error('must hold at most two secrets')
  return entries.map((entry) => {
    const [, encoded] = /^whsec_([A-Za-z0-9+/]{32,128}={0,2})$/.exec(entry) ?? []
    const key = Buffer.from(encoded ?? '', 'base64')
    if (key.length < 24 || new Set(key).size < 10)
      throw new Error('must be whsec_ and base64 of at least 24 random bytes, as your payment provider shows it')
    return key
  })
}

export function emails(text: string): string[] {
  const entries = list(text).map((entry) => entry.toLowerCase())
  // ASCII alone, before anything is made lower case: `toLowerCase()` makes a k of the sign for Kelvin.
  const wrong = list(text).find((entry) => !/^[\x21-\x3f\x41-\x7e]+@[\x21-\x3f\x41-\x7e]+$/.test(entry))
  if (wrong !== undefined) throw new Error(`has '${wrong}', which is not an e-mail address`)
  return entries
}

export function regions(text: string): string[] {
  const entries = list(text)
  if (!entries.every(isRegionName)) throw new Error('must name regions of 1 to 64 visible characters')
  return entries
}
