// Test vectors of the capability credential, for verifiers in other languages: tokens that verify with what they allow,
// and tokens that must be refused with their code. Ed25519 signatures are deterministic, so the file is too; the keys
// are published and good for nothing else.  node libs/capability/testing/make-vectors.ts > libs/capability/vectors.json

import { createHash, createPrivateKey, sign } from 'node:crypto'
import { CHILD_TYPE, ROOT_TYPE, type RootClaims } from '../capability.ts'
import { type PrivateJwk, privateKeyOf, signJws } from '../jws.ts'

const NOW = 1_800_000_000
const ISSUER = key('issuer')
const HOLDER = key('holder')
const AGENT = key('agent')
const STRANGER = key('stranger')

const ROOT: RootClaims = {
  iss: 'https://loci.example',
  aud: 'svc_01jcv5n8q0e5mb8x8y4z2k7r9t',
  org: 'org_01jcv5n8q0e5mb8x8y4z2k7r9a',
  ten: 'ten_01jcv5n8q0e5mb8x8y4z2k7r9b',
  svc: 'svc_01jcv5n8q0e5mb8x8y4z2k7r9t',
  ops: ['system:read', 'kv:read', 'kv:write'],
  ks: ['kv/*', 'memory/notes'],
  iat: NOW - 60,
  nbf: NOW - 60,
  exp: NOW + 3_600,
  jti: 'cap_01jcv5n8q0e5mb8x8y4z2k7r9c',
  del_max: 0,
}

/** A key whose seed is the digest of its name, wrapped as PKCS #8 (RFC 8410) so that Node derives the public part. */
function key(name: string): PrivateJwk {
  const seed = createHash('sha256').update(`loci test vector ${name}`).digest()
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }).export({ format: 'jwk' }) as PrivateJwk
}

function publicOf({ kty, crv, x }: PrivateJwk) {
  return { kty, crv, x }
}

function root(changes: Record<string, unknown> = {}, header: object = {}, signer = ISSUER): string {
  return signJws({ alg: 'EdDSA', typ: ROOT_TYPE, kid: 'k1', ...header }, { ...ROOT, ...changes }, privateKeyOf(signer))
}

/** Claims as a text of one's own: JSON that no serializer makes. */
function rootOf(claims: string | Buffer): string {
  const header = { alg: 'EdDSA', typ: ROOT_TYPE, kid: 'k1' }
  const input = [JSON.stringify(header), claims].map((part) => Buffer.from(part).toString('base64url')).join('.')
  return `${input}.${sign(null, Buffer.from(input), privateKeyOf(ISSUER)).toString('base64url')}`
}

/** The same bytes with another last character, whose low bits mean nothing. */
function otherSpelling(text: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return text.slice(0, -1) + letters[letters.indexOf(text.at(-1) as string) + 1]
}

function child(parent: string, changes: Record<string, unknown> = {}, signer = HOLDER, header: object = {}): string {
  const last = parent.split('~').at(-1) as string
  const claims = {
    par: createHash('sha256').update(last).digest('base64url'),
    ops: ['system:read', 'kv:read'],
    ks: ['kv/notes'],
    exp: NOW + 600,
    jti: 'cap_01jcv5n8q0e5mb8x8y4z2k7r9d',
    ...changes,
  }
  return `${parent}~${signJws({ alg: 'EdDSA', typ: CHILD_TYPE, ...header }, claims, privateKeyOf(signer))}`
}

const delegable = root({ del_max: 3, cnf: { jwk: publicOf(HOLDER) } })
const handed = child(delegable, { cnf: { jwk: publicOf(AGENT) } })
const sealed = child(delegable)
const grandchild = child(handed, { ops: ['kv:read'], jti: 'cap_01jcv5n8q0e5mb8x8y4z2k7r9e' }, AGENT)
const [rootLink, childLink, leafLink] = grandchild.split('~') as [string, string, string]

const UNAUTHENTICATED = 'UNAUTHENTICATED'

export const vectors = {
  now: NOW,
  keys: { k1: publicOf(ISSUER) },
  accepted: [
    { name: 'bare root', token: root(), ops: ROOT.ops, ks: ROOT.ks, expires_at: ROOT.exp, jtis: [ROOT.jti] },
    {
      name: 'root with sub',
      token: root({ sub: 'usr_01jcv5n8q0e5mb8x8y4z2k7r9f' }),
      ops: ROOT.ops,
      ks: ROOT.ks,
      expires_at: ROOT.exp,
      jtis: [ROOT.jti],
    },
    {
      name: 'operator root',
      token: root({ ops: ['operator'], ks: ['*/*'] }),
      ops: ['operator'],
      ks: ['*/*'],
      expires_at: ROOT.exp,
      jtis: [ROOT.jti],
    },
    {
      name: 'sealed child',
      token: sealed,
      ops: ['system:read', 'kv:read'],
      ks: ['kv/notes'],
      expires_at: NOW + 600,
      jtis: [ROOT.jti, 'cap_01jcv5n8q0e5mb8x8y4z2k7r9d'],
    },
    {
      name: 'sealed grandchild',
      token: grandchild,
      ops: ['kv:read'],
      ks: ['kv/notes'],
      expires_at: NOW + 600,
      jtis: [ROOT.jti, 'cap_01jcv5n8q0e5mb8x8y4z2k7r9d', 'cap_01jcv5n8q0e5mb8x8y4z2k7r9e'],
    },
    {
      name: 'blanks, escapes and colons in the text of the claims',
      token: rootOf(JSON.stringify({ ...ROOT, sub: 'a:"b":{:}' }, null, 1).replace('"iss"', '"\\u0069ss"')),
      ops: ROOT.ops,
      ks: ROOT.ks,
      expires_at: ROOT.exp,
      jtis: [ROOT.jti],
    },
    {
      name: 'expired less than the tolerance ago',
      token: root({ exp: NOW - 29 }),
      ops: ROOT.ops,
      ks: ROOT.ks,
      expires_at: NOW - 29,
      jtis: [ROOT.jti],
    },
  ],
  refused: [
    { name: 'empty', token: '', code: UNAUTHENTICATED },
    { name: 'no token', token: 'x', code: UNAUTHENTICATED },
    { name: 'unknown kid', token: root({}, { kid: 'k2' }), code: UNAUTHENTICATED },
    { name: 'foreign signature', token: root({}, {}, STRANGER), code: UNAUTHENTICATED },
    { name: 'embedded key', token: root({}, { jwk: publicOf(STRANGER) }, STRANGER), code: UNAUTHENTICATED },
    {
      name: 'alg none',
      token: `${Buffer.from('{"alg":"none","typ":"loci-cap+jwt","kid":"k1"}').toString('base64url')}.${root().split('.')[1]}.AA`,
      code: UNAUTHENTICATED,
    },
    { name: 'another type', token: root({}, { typ: 'JWT' }), code: UNAUTHENTICATED },
    { name: 'child type on a root', token: root({}, { typ: CHILD_TYPE }), code: UNAUTHENTICATED },
    { name: 'unknown claim', token: root({ only_on_mondays: true }), code: UNAUTHENTICATED },
    {
      name: 'a claim named twice, the later one sooner over',
      token: rootOf(JSON.stringify(ROOT).replace('"exp":', `"exp":${NOW + 7_200},"exp":`)),
      code: UNAUTHENTICATED,
    },
    {
      name: 'a claim named twice, once in escapes',
      token: rootOf(JSON.stringify(ROOT).replace('"ops":', '"\\u006fps":["operator"],"ops":')),
      code: UNAUTHENTICATED,
    },
    {
      name: 'a member named twice inside a claim',
      token: child(
        rootOf(
          JSON.stringify({ ...ROOT, del_max: 1, cnf: { jwk: publicOf(HOLDER) } }).replace(
            '"kty":',
            `"x":"${STRANGER.x}","kty":`,
          ),
        ),
      ),
      code: UNAUTHENTICATED,
    },
    {
      name: 'claims that are not UTF-8',
      token: rootOf(Buffer.from(JSON.stringify(ROOT).replace('"iss":"', '"iss":"\xff'), 'latin1')),
      code: UNAUTHENTICATED,
    },
    { name: 'signature in another spelling', token: otherSpelling(root()), code: UNAUTHENTICATED },
    { name: 'padded signature', token: `${root()}==`, code: UNAUTHENTICATED },
    { name: 'unknown header member', token: root({}, { crit: ['x'] }), code: UNAUTHENTICATED },
    {
      name: 'audience of another service',
      token: root({ aud: 'svc_01jcv5n8q0e5mb8x8y4z2k7r9z' }),
      code: UNAUTHENTICATED,
    },
    { name: 'missing ops', token: root({ ops: undefined }), code: UNAUTHENTICATED },
    { name: 'pattern in a keyspace', token: root({ ks: ['kv/acme*'] }), code: UNAUTHENTICATED },
    { name: 'depth of five', token: root({ del_max: 5 }), code: UNAUTHENTICATED },
    {
      name: 'delegable operator',
      token: root({ ops: ['operator'], del_max: 1, cnf: { jwk: publicOf(HOLDER) } }),
      code: UNAUTHENTICATED,
    },
    { name: 'expired', token: root({ exp: NOW - 31 }), code: 'CAPABILITY_EXPIRED' },
    { name: 'not yet', token: root({ nbf: NOW + 31 }), code: UNAUTHENTICATED },
    { name: 'root that carries a key', token: delegable, code: 'CAPABILITY_UNSEALED' },
    { name: 'cut after the middle link', token: handed, code: 'CAPABILITY_UNSEALED' },
    { name: 'middle link taken out', token: `${rootLink}~${leafLink}`, code: UNAUTHENTICATED },
    { name: 'reordered', token: `${rootLink}~${leafLink}~${childLink}`, code: UNAUTHENTICATED },
    { name: 'leaf twice', token: `${grandchild}~${leafLink}`, code: UNAUTHENTICATED },
    { name: 'root missing', token: `${childLink}~${leafLink}`, code: UNAUTHENTICATED },
    {
      name: 'child widens operations',
      token: child(delegable, { ops: ['kv:read', 'kv:delete'] }),
      code: UNAUTHENTICATED,
    },
    { name: 'child widens a keyspace', token: child(delegable, { ks: ['memory/*'] }), code: UNAUTHENTICATED },
    { name: 'child adds a domain', token: child(delegable, { ks: ['working-memory/notes'] }), code: UNAUTHENTICATED },
    { name: 'child outlives its parent', token: child(delegable, { exp: ROOT.exp + 1 }), code: UNAUTHENTICATED },
    {
      name: 'child of another parent',
      token: `${delegable}~${childLink.replace(/^.*$/, child(root({ del_max: 2, cnf: { jwk: publicOf(HOLDER) } })).split('~')[1] as string)}`,
      code: UNAUTHENTICATED,
    },
    { name: 'child signed by a stranger', token: child(delegable, {}, STRANGER), code: UNAUTHENTICATED },
    { name: 'child signed by the root’s key', token: child(delegable, {}, ISSUER), code: UNAUTHENTICATED },
    { name: 'child under a sealed link', token: child(sealed), code: UNAUTHENTICATED },
    { name: 'child without a jti', token: child(delegable, { jti: undefined }), code: UNAUTHENTICATED },
    { name: 'child with an unknown claim', token: child(delegable, { del_max: 4 }), code: UNAUTHENTICATED },
    { name: 'private key in cnf', token: root({ del_max: 1, cnf: { jwk: HOLDER } }), code: UNAUTHENTICATED },
    {
      name: 'deeper than del_max',
      token: child(
        child(root({ del_max: 1, cnf: { jwk: publicOf(HOLDER) } }), { cnf: { jwk: publicOf(AGENT) } }),
        {},
        AGENT,
      ),
      code: UNAUTHENTICATED,
    },
  ],
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(vectors, null, 2)}\n`)
