// Narrowing a capability offline: the holder of a delegation signs a further link with fewer rights, databases or
// time. By Web Crypto, so that browsers can do it too; libs/capability has the same for servers, and verifies it.

import { newId } from '@loci/contract/ids.ts'
import { LociError } from './error.ts'

/** As a token's `delegation` comes from management: a chain that ends in a key, and that key. */
export interface Delegation {
  chain: string
  key: { kty: 'OKP'; crv: 'Ed25519'; x: string; d: string }
}

export interface Narrowing {
  /** Rights, such as `memory:read`; what is not given is inherited. */
  ops?: string[] | undefined
  /** Only these databases, of every domain that the parent has. */
  databases?: string[] | undefined
  /** `<domain>/<database>`, instead of `databases`. */
  keyspaces?: string[] | undefined
  ttlSeconds?: number | undefined
}

interface Claims {
  jti: string
  ops: string[]
  ks: string[]
  exp: number
  del_max?: number
  cnf?: { jwk: { x: string } }
}

const CHILD_HEADER = { alg: 'EdDSA', typ: 'loci-cap-att+jwt' }

/** A token with fewer rights, to be used as it is. */
export async function attenuate(parent: Delegation, narrowing: Narrowing = {}): Promise<string> {
  return `${parent.chain}~${await sign(parent, narrowing, undefined)}`
}

/** The same with a key of its own, which its receiver can narrow again. */
export async function delegate(parent: Delegation, narrowing: Narrowing = {}): Promise<Delegation> {
  const made = await crypto.subtle.generateKey('Ed25519', true, ['sign', 'verify'])
  const { privateKey } = made as Extract<typeof made, { privateKey: unknown }>
  const { x, d } = (await crypto.subtle.exportKey('jwk', privateKey)) as { x: string; d: string }
  const chain = `${parent.chain}~${await sign(parent, narrowing, x)}`
  return { chain, key: { kty: 'OKP', crv: 'Ed25519', x, d } }
}

async function sign({ chain, key }: Delegation, narrowing: Narrowing, holder: string | undefined): Promise<string> {
  const links = chain.split('~')
  const [root, from] = [claimsOf(links[0] ?? ''), claimsOf(links.at(-1) ?? '')]
  if (from.cnf?.jwk.x !== key.x) throw refused('the key does not belong to the end of the chain')
  if (links.length > (root.del_max ?? 0)) throw refused('the token was made for fewer links')
  const child = {
    par: base64url(new Uint8Array(await crypto.subtle.digest('SHA-256', bytesOf(links.at(-1) ?? '')))),
    ops: narrowing.ops ?? from.ops,
    ks: narrowing.keyspaces ?? keyspacesOf(from.ks, narrowing.databases),
    exp: narrowing.ttlSeconds === undefined ? from.exp : endOf(from.exp, narrowing.ttlSeconds),
    jti: newId('cap'),
    ...(holder === undefined ? {} : { cnf: { jwk: { kty: 'OKP', crv: 'Ed25519', x: holder } } }),
  }
  if (!child.ops.every((op) => from.ops.includes(op))) throw refused('it would have rights that the token has not')
  if (!child.ks.every((keyspace) => from.ks.some((held) => covers(held, keyspace))))
    throw refused('it would reach databases that the token does not')
  const input = `${encode(CHILD_HEADER)}.${encode(child)}`
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.x, d: key.d }
  const privateKey = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['sign'])
  return `${input}.${base64url(new Uint8Array(await crypto.subtle.sign('Ed25519', privateKey, bytesOf(input))))}`
}

/** Each of the databases in the domains in which the parent reaches it; in none of them is a mistake. */
function keyspacesOf(held: string[], databases: string[] | undefined): string[] {
  if (!databases) return held
  const domains = [...new Set(held.map((keyspace) => keyspace.slice(0, keyspace.indexOf('/'))))]
  return databases.flatMap((database) => {
    const asked = domains.map((domain) => `${domain}/${database}`)
    const covered = asked.filter((keyspace) => held.some((one) => covers(one, keyspace)))
    return covered.length > 0 ? covered : asked
  })
}

function endOf(parentEnds: number, ttlSeconds: number): number {
  return Math.min(parentEnds, Math.floor(Date.now() / 1_000) + ttlSeconds)
}

function covers(held: string, asked: string): boolean {
  const [heldDomain, heldDatabase] = held.split('/')
  const [domain, database] = asked.split('/')
  return (heldDomain === '*' || heldDomain === domain) && (heldDatabase === '*' || heldDatabase === database)
}

/** Read, not verified: the server verifies. */
export function claimsOf(link: string): Claims {
  try {
    const text = atob((link.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (char) => char.charCodeAt(0))))
  } catch (cause) {
    throw new LociError('INVALID_REQUEST', 'This is not a capability; was it cut or wrapped?', { status: 0, cause })
  }
}

function encode(value: object): string {
  return base64url(bytesOf(JSON.stringify(value)))
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}

function refused(reason: string): LociError {
  return new LociError('INVALID_REQUEST', `The capability cannot be narrowed so: ${reason}.`, { status: 0 })
}
