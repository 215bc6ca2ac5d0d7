// Hostile capabilities: what somebody sends who rightly holds a little of one tenant, everything of another, keys of
// his own and all that is public. None may open more than he holds.

import { createHmac } from 'node:crypto'
import {
  attenuate,
  type Capability,
  type Delegation,
  inspectCapability,
  seal,
  type VerifyOptions,
  type verifyCapability,
} from '@loci/capability/capability.ts'
import { newKeyPair, publicKeyOf, signJws } from '@loci/capability/jws.ts'
import { coversKeyspace } from '@loci/capability/keyspaces.ts'
import { CHILDREN, type Held, type Make, signerOf, WANTED } from './hostile-children.ts'
import type { Random } from './seeded.ts'

/**
 * What the attack starts from; the wide delegation of the victim is where his narrow ones come from, and is not in his
 * hands.
 */
export interface Origin {
  wide: Delegation
  /** A bare root that may read `own` alone. */
  narrowRoot: string
  foreign: Delegation
  /** Public keys of the issuer. */
  keys: { kid: string; x: string }[]
}

export interface Hostile {
  kind: string
  text: string
}

export interface Attack {
  next(): Hostile
  /** Undefined when the capability is within what the attacker holds. */
  gainOf(capability: Capability): string | undefined
}

export const NARROW = { ops: ['kv:read'], ks: ['kv/own'] }

type Verify = typeof verifyCapability

export function planAttack(origin: Origin, random: Random, verify: Verify, options: VerifyOptions): Attack {
  const held = hold(origin)
  const kinds = Object.entries({ ...SURGERY, ...CHILDREN })
  const rightful = [
    ...held.tokens.map((text) => ({ ...verify(text, options), isWhole: true })),
    ...held.delegations.map((one) => {
      const sealed = verify(seal(one), options)
      return { ...sealed, jtis: sealed.jtis.slice(0, -1), isWhole: false }
    }),
  ]
  return {
    next() {
      const [kind, make] = random.pick(kinds)
      return { kind, text: make(held, random) }
    },
    gainOf(capability) {
      const isWithin = rightful.some(
        (one) =>
          JSON.stringify(one.root) === JSON.stringify(capability.root) &&
          one.kid === capability.kid &&
          // Revocation goes by these: whoever shakes one off has gained.
          one.jtis.every((jti, at) => capability.jtis[at] === jti) &&
          (one.isWhole ? one.jtis.length === capability.jtis.length : one.jtis.length < capability.jtis.length) &&
          one.isBareRoot === capability.isBareRoot &&
          [...capability.ops].every((op) => one.ops.has(op)) &&
          capability.ks.every((keyspace) => coversKeyspace(one.ks, keyspace)) &&
          capability.expiresAt <= one.expiresAt &&
          capability.notBefore >= one.notBefore,
      )
      if (isWithin) return undefined
      const { ops, ks, expiresAt, jtis } = capability
      return `${[...ops].join(' ')} on ${ks.join(' ')} until ${expiresAt} as ${jtis.join('~')}`
    },
  }
}

function hold({ wide, narrowRoot, foreign, keys }: Origin): Held {
  const agent = attenuate(wide, NARROW)
  const deeper = attenuate(agent)
  return {
    // Where the leaf is narrow and its root wide, cutting would pay.
    tokens: [narrowRoot, seal(wide, NARROW), seal(agent), seal(deeper), seal(foreign), seal(attenuate(foreign))],
    delegations: [agent, deeper, foreign],
    keys,
    own: newKeyPair().privateJwk,
    foreign,
  }
}

/** Without the key of any link. */
const SURGERY: Record<string, Make> = {
  'alg none': (held, random) =>
    edit(held, random, ({ header, claims }) => {
      const alg = random.pick(['none', 'None', 'NONE', 'nOnE', '', null])
      return raw({ ...header, alg }, widened(claims, random), random.pick(['', 'AA', 'A'.repeat(86)]))
    }),
  'HS256 with the public key': (held, random) =>
    edit(held, random, ({ header, claims }) => {
      const { x } = random.pick(held.keys)
      const pem = publicKeyOf({ kty: 'OKP', crv: 'Ed25519', x })?.export({ type: 'spki', format: 'pem' }) as string
      const secret = random.pick([x, pem, Buffer.from(x, 'base64url'), pem.trim()])
      const alg = random.pick(['HS256', 'HS512', 'EdDSA'])
      const input = raw({ ...header, alg }, widened(claims, random), '').slice(0, -1)
      const digest = alg === 'HS512' || alg === 'EdDSA' ? 'sha512' : 'sha256'
      return `${input}.${createHmac(digest, secret).update(input).digest('base64url')}`
    }),
  'embedded jwk': (held, random) =>
    edit(held, random, ({ header, claims }) => {
      const { kty, crv, x } = held.own
      const jwk = { kty, crv, x }
      const also = random.pick([
        { jwk },
        { jwk, kid: x },
        { jku: 'http://127.0.0.1/k' },
        { x5c: [x] },
        { crit: ['b64'], b64: false },
      ])
      return signJws({ ...header, ...also }, widened(claims, random), signerOf(held.own))
    }),
  'kid traversal': (held, random) =>
    edit(held, random, ({ header, claims }) => {
      const { kid } = random.pick(held.keys)
      const other = [
        `../${kid}`,
        '../../dev/null',
        '',
        null,
        0,
        [kid],
        { kid },
        '__proto__',
        'constructor',
        `${kid}\0`,
        `${kid} `,
        `${kid}/../x`,
      ]
      return signJws({ ...header, kid: random.pick(other) }, widened(claims, random), signerOf(held.own))
    }),
  'foreign key': (held, random) =>
    edit(held, random, ({ header, claims }) => {
      const key = random.pick([held.own, held.foreign.key])
      return signJws(header, widened(claims, random), signerOf(key))
    }),
  'edited claims': (held, random) =>
    edit(held, random, ({ header, claims, signature }) => raw(header, widened(claims, random), signature)),
  'bit flip': (held, random) => {
    const bytes = Buffer.from(random.pick(held.tokens), 'latin1')
    const at = random.below(bytes.length)
    bytes[at] = (bytes[at] as number) ^ (1 << random.below(7))
    return bytes.toString('latin1')
  },
  'byte removed, doubled or replaced': (held, random) => {
    const text = random.pick(held.tokens)
    const at = random.below(text.length)
    const put = random.pick(['', (text[at] as string).repeat(2), random.pick([...'AZaz09-_.~= +/%\n'])])
    return text.slice(0, at) + put + text.slice(at + 1)
  },
  'cut chain': (held, random) => {
    const links = random
      .pick([...held.tokens.filter((text) => text.includes('~')), ...held.delegations.map((one) => one.chain)])
      .split('~')
    const kept = 1 + random.below(Math.max(1, links.length - 1))
    return links.slice(0, kept).join('~') + random.pick(['', '', '', '~', '~~'])
  },
  'links reordered, doubled or left out': (held, random) => {
    const links = random.pick(held.tokens).split('~')
    const at = random.below(links.length)
    const to = random.below(links.length)
    const changed = random.pick([
      links.toReversed(),
      links.toSpliced(at, 1),
      links.toSpliced(at, 0, links[to] as string),
      links.toSpliced(at, 1, links[to] as string).toSpliced(to, 1, links[at] as string),
    ])
    return changed.join('~')
  },
  'spliced links': (held, random) => {
    const all = held.tokens.flatMap((text) => text.split('~'))
    const root = random.pick([...held.tokens, ...held.delegations.map((one) => one.chain)]).split('~')[0] as string
    return [root, ...Array.from({ length: 1 + random.below(4) }, () => random.pick(all))].join('~')
  },
  'another spelling of base64': (held, random) => {
    const links = random.pick(held.tokens).split('~')
    const at = random.below(links.length)
    const parts = (links[at] as string).split('.')
    const part = random.below(3)
    parts[part] = respelled(parts[part] as string, random)
    return links.toSpliced(at, 1, parts.join('.')).join('~')
  },
  'signature plus the order of the group': (held, random) =>
    edit(held, random, ({ header, claims, signature }) => {
      const bytes = Buffer.from(signature, 'base64url')
      const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString('hex')}`) + GROUP_ORDER
      const text = (s & (2n ** 256n - 1n)).toString(16).padStart(64, '0')
      return raw(
        header,
        claims,
        Buffer.concat([bytes.subarray(0, 32), Buffer.from(text, 'hex').reverse()]).toString('base64url'),
      )
    }),
  'too long': (held, random) => {
    const text = random.pick(held.tokens)
    return random.pick([
      `${text}${'~'.repeat(6)}`,
      `${text}${`~${text.split('~').at(-1)}`.repeat(5)}`,
      `${text}${'A'.repeat(8_200)}`,
      '~'.repeat(9_000),
      `${'.'.repeat(4_000)}${text}`,
    ])
  },
  garbage: (_, random) => {
    const length = random.below(300)
    const alphabet = 'eyJhbGciOi.~-_ABCDEFxyz0189={}":,[]'
    return Array.from({ length }, () => random.pick([...alphabet])).join('')
  },
}

const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

interface Link {
  header: Record<string, unknown>
  claims: Record<string, unknown>
  signature: string
}

/** One link of one token made anew; where others hang under it they no longer fit, or must not. */
function edit({ tokens }: Held, random: Random, change: (link: Link) => string): string {
  const links = random.pick(tokens).split('~')
  const at = random.below(links.length)
  const [link] = inspectCapability(links[at] as string)
  const changed = change({ ...(link as Link), signature: (links[at] as string).split('.')[2] as string })
  return (random.chance(0.5) ? links.toSpliced(at, 1, changed) : [...links.slice(0, at), changed]).join('~')
}

function widened(claims: Record<string, unknown>, random: Random): Record<string, unknown> {
  const { cnf: _, ...bare } = claims
  const exp = (claims.exp as number) + 1e6
  return {
    ...random.pick([claims, bare]),
    ...random.pick([
      { ops: WANTED },
      { ks: ['*/*'] },
      { exp },
      { del_max: 4 },
      { sub: 'usr_x' },
      { ops: WANTED, ks: ['*/*'], exp },
    ]),
  }
}

function raw(header: object, claims: object, signature: string): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${encode(header)}.${encode(claims)}.${signature}`
}

function respelled(text: string, random: Random): string {
  const last = text.at(-1) as string
  return random.pick([
    text.slice(0, -1) + random.pick([...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_']),
    `${text}=`,
    `${text}==`,
    text.replaceAll('-', '+').replaceAll('_', '/'),
    `${text}A`,
    text.slice(0, -1),
    `${text.slice(0, 5)}\n${text.slice(5)}`,
    ` ${text}`,
    `${text.slice(0, -1)}${last}%3D`,
    text.toLowerCase(),
  ])
}
