// Hostile children: links that are signed as they must be, with the key of a delegation that their maker rightly holds,
// and ask for more than it gives.

import { createHash, type KeyObject, sign } from 'node:crypto'
import { CHILD_TYPE, type Delegation, inspectCapability, ROOT_TYPE } from '@loci/capability/capability.ts'
import { newKeyPair, type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import type { Random } from './seeded.ts'

/** What the attacker has in his hands. */
export interface Held {
  tokens: string[]
  delegations: Delegation[]
  /** Public keys of the issuer. */
  keys: { kid: string; x: string }[]
  own: PrivateJwk
  foreign: Delegation
}

export type Make = (held: Held, random: Random) => string

export const WANTED = ['kv:write', 'kv:delete', 'memory:read', 'operator', 'system:read']

export const CHILDREN: Record<string, Make> = {
  'child with wider operations': (held, random) =>
    child(held, random, ({ ops }) => ({
      ops: random.pick([[...ops, random.pick(WANTED)], [random.pick(WANTED)], ['*'], ['kv:*']]),
    })),
  'child with wider keyspaces': (held, random) =>
    child(held, random, ({ ks }) => ({
      ks: random.pick([
        ['*/*'],
        ['kv/*'],
        ['*/own'],
        [...ks, 'kv/vault'],
        ['kv/own-2'],
        ['memory/own'],
        ['kv/own/../vault'],
        ['kv/'],
        ['/own'],
        ['kv/own\n'],
        ['KV/own'],
      ]),
    })),
  'child with a later expiry': (held, random) =>
    child(held, random, ({ exp }) => ({
      exp: random.pick([
        exp + 1,
        exp + 1e6,
        exp + 0.5,
        2 ** 53,
        Number.MAX_VALUE,
        String(exp),
        -1,
        null,
        [exp],
        true,
        undefined,
      ]),
    })),
  'deeper than the root allows': (held, random) => {
    let parent = random.pick(held.delegations)
    for (let links = 1 + random.below(5); links > 0; links -= 1)
      parent = linked(parent, { del_max: random.pick([undefined, 9]) }, newKeyPair().privateJwk)
    return linked(parent, {}).chain
  },
  'last link with a key': (held, random) =>
    child(held, random, () => ({
      cnf: random.pick([{ jwk: publicOf(held.own) }, { jwk: held.own }, null, {}, { jwk: null }, false, { kid: 'x' }]),
    })),
  'another parent': (held, random) => {
    const [from, to] = [random.pick(held.delegations), random.pick(held.delegations)]
    const last = from.chain.split('~').at(-1) as string
    const par = random.pick([
      digest(last),
      digest(from.chain),
      digest(to.chain.split('~')[0] as string),
      '',
      undefined,
      last,
    ])
    return linked(
      { chain: to.chain, key: random.pick([from.key, to.key]) },
      { par, ...random.pick([{}, { ops: WANTED }]) },
    ).chain
  },
  'key of another chain': (held, random) => {
    const { chain } = random.pick(held.delegations)
    return linked({ chain, key: random.pick([held.own, held.foreign.key]) }, { ops: WANTED }).chain
  },
  'unknown or stolen claims': (held, random) =>
    child(held, random, () =>
      random.pick([
        { svc: 'svc_x' },
        { aud: 'svc_x' },
        { org: 'org_x' },
        { sub: 'usr_x' },
        { del_max: 4 },
        { iss: 'x' },
        { role: 'operator' },
        { '': 1 },
        { jti: undefined },
        { jti: '' },
        { jti: 5 },
        { iat: -1 },
        { nbf: '0' },
      ]),
    ),
  'child that poses as a root': (held, random) => {
    const parent = random.pick(held.delegations)
    const { kid } = random.pick(held.keys)
    const header = random.pick([
      { alg: 'EdDSA', typ: ROOT_TYPE, kid },
      { alg: 'EdDSA', typ: CHILD_TYPE, kid },
      { alg: 'EdDSA', typ: 'JWT' },
      { alg: 'EdDSA' },
      { alg: 'eddsa', typ: CHILD_TYPE },
    ])
    const made = linked(parent, { ops: random.pick([undefined, WANTED]) }, undefined, header).chain
    return random.chance(0.5) ? made : (made.split('~').at(-1) as string)
  },
  'the same name twice': (held, random) =>
    childText(held, random, (text) => {
      const wide = random.pick([
        '"ops":["operator","kv:write"]',
        '"ks":["*/*"]',
        '"exp":99999999999',
        '"__proto__":{"ops":["operator"]}',
        '"constructor":{}',
        '"\\u006fps":["kv:write"]',
      ])
      return random.chance(0.5) ? text.replace('{', `{${wide},`) : text.replace(/\}$/, `,${wide}}`)
    }),
  'odd numbers and characters': (held, random) =>
    childText(held, random, (text) =>
      random.pick([
        text.replace(
          /"exp":\d+/,
          random.pick([
            '"exp":1e999',
            '"exp":1e400',
            '"exp":9e15',
            '"exp":-0',
            '"exp":0x7fffffff',
            '"exp":NaN',
            '"exp":1_000',
          ]),
        ),
        text.replace(
          'kv:read',
          random.pick([
            'kv:read\\u0000',
            'kv:wr\\u0069te',
            'ｋv:write',
            'kv\\u003awrite',
            'KV:WRITE',
            'kv:write ',
            'kv:read","kv:write',
          ]),
        ),
        text.replace(
          'kv/own',
          random.pick(['kv/own\\u0000', 'kv/*', 'kv\\/vault', 'kv/оwn', 'kv/OWN', '*/*', 'kv/own","kv/vault']),
        ),
        `\ufeff${text}`,
        `[${text}]`,
        `${text}${text}`,
        text.replace(/"ops":\[/, '"ops":{"0":').replace(']', '}'),
      ]),
    ),
}

type Claims = { par: string; ops: string[]; ks: string[]; exp: number; jti: string }

function claimsOf(link: string): Claims {
  return inspectCapability(link)[0]?.claims as unknown as Claims
}

function claimsUnder(parent: Delegation): Claims {
  const last = parent.chain.split('~').at(-1) as string
  const { ops, ks, exp } = claimsOf(last)
  return { par: digest(last), ops, ks, exp, jti: 'cap_01jcv5n8q0e5mb8x8y4z2k7r9x' }
}

const CHILD_HEADER: object = { alg: 'EdDSA', typ: CHILD_TYPE }

function linked(parent: Delegation, changes: object, key?: PrivateJwk, header = CHILD_HEADER): Delegation {
  const claims = {
    ...claimsUnder(parent),
    ...(key ? { cnf: { jwk: publicOf(key) } } : {}),
    ...withoutUndefined(changes),
  }
  return { chain: `${parent.chain}~${signJws(header, claims, signerOf(parent.key))}`, key: key ?? parent.key }
}

function child({ delegations }: Held, random: Random, changes: (claims: Claims) => object): string {
  const parent = random.pick(delegations)
  const claims = { ...claimsUnder(parent), ...changes(claimsUnder(parent)) }
  return `${parent.chain}~${signJws(CHILD_HEADER, claims, signerOf(parent.key))}`
}

/** The claims as a text of the attacker's own, which no JSON library would write. */
function childText({ delegations }: Held, random: Random, change: (text: string) => string): string {
  const parent = random.pick(delegations)
  const text = change(JSON.stringify(claimsUnder(parent)))
  const input = `${Buffer.from(JSON.stringify(CHILD_HEADER)).toString('base64url')}.${Buffer.from(text).toString('base64url')}`
  return `${parent.chain}~${input}.${sign(null, Buffer.from(input), signerOf(parent.key)).toString('base64url')}`
}

function withoutUndefined(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

const signers = new WeakMap<PrivateJwk, KeyObject>()

/** Reading a key costs more than signing with it. */
export function signerOf(key: PrivateJwk): KeyObject {
  const known = signers.get(key) ?? privateKeyOf(key)
  signers.set(key, known)
  return known
}

function publicOf({ kty, crv, x }: PrivateJwk) {
  return { kty, crv, x }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}
