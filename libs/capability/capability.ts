// The capability credential: `<root JWS>[~<child JWS>]*`. The root is signed by management; each child is
// signed with the key that its parent names in `cnf`, and may only narrow. Pure: clock and keys are handed in.
//
// What must stay true above all: a link with `cnf` is a delegation key, not a credential. The LAST link carries none,
// so a holder of `root~leaf` who cuts the leaf off has a chain that ends in `cnf` and is refused.

import { createHash, type KeyObject } from 'node:crypto'
import { newId } from '@loci/contract/ids.ts'
import {
  type DecodedJws,
  decodeJws,
  isPublicJwk,
  newKeyPair,
  type PrivateJwk,
  type PublicJwk,
  privateKeyOf,
  publicKeyOf,
  signJws,
  verifyJws,
} from './jws.ts'
import { coversKeyspace, isKeyspace } from './keyspaces.ts'

export const ROOT_TYPE = 'loci-cap+jwt'
export const CHILD_TYPE = 'loci-cap-att+jwt'
export const LINKS_MAX = 5
export const BYTES_MAX = 8 * 1024
const TOLERANCE_S = 30

export interface RootClaims {
  iss: string
  aud: string
  org: string
  ten: string
  svc: string
  ops: string[]
  ks: string[]
  iat: number
  nbf: number
  exp: number
  jti: string
  del_max: number
  /** Who requested it: `usr_…` or `key_…`. */
  sub?: string
  cnf?: { jwk: PublicJwk }
}

export interface ChildClaims {
  /** base64url SHA-256 of the parent link's compact text. */
  par: string
  ops: string[]
  ks: string[]
  exp: number
  jti: string
  cnf?: { jwk: PublicJwk }
  iat?: number
  nbf?: number
}

/** What a verified chain allows: the narrowest of all its links. */
export interface Capability {
  kid: string
  root: RootClaims
  ops: ReadonlySet<string>
  ks: readonly string[]
  /** Of every link, root first: revoking any of them revokes the chain. */
  jtis: readonly string[]
  /** Seconds; the earliest end and the latest beginning of all links. */
  expiresAt: number
  notBefore: number
  /** Distinguishes the sub-agents of one root. */
  firstChildJti: string | undefined
  /** A single root without cnf: the only form in which operator rights count. */
  isBareRoot: boolean
}

export type CapabilityRefusal = 'UNAUTHENTICATED' | 'CAPABILITY_UNSEALED' | 'CAPABILITY_EXPIRED'

export class CapabilityError extends Error {
  readonly code: CapabilityRefusal

  constructor(code: CapabilityRefusal, message: string) {
    super(message)
    this.name = 'CapabilityError'
    this.code = code
  }
}

export interface VerifyOptions {
  /** Seconds. */
  now: number
  /** Only keys that management published. An unknown kid must not cause a lookup elsewhere. */
  findKey(kid: string): KeyObject | undefined
}

/** Cache of verified links, by the digest of the chain up to them: a known prefix costs no signature. */
export interface KnownLinks {
  find(digest: string): object | undefined
  keep(digest: string, claims: object, bytes: number): void
}

/** Its root is verified, its children are not: enough to know the instance, not enough to admit the request. */
export interface OpenedChain {
  kid: string
  root: RootClaims
  links: readonly DecodedJws[]
}

/** Throws CapabilityError. The caller must check revocation and the state of the instance, on every use. */
export function verifyCapability(text: string, options: VerifyOptions): Capability {
  return verifyChildren(verifyRoot(text, options), options)
}

/** Verifies one signature at most, however long the chain is. */
export function verifyRoot(
  text: string,
  { findKey, known }: Pick<VerifyOptions, 'findKey'> & { known?: KnownLinks },
): OpenedChain {
  const links = decodeChain(text)
  const [rootLink] = links as [DecodedJws]
  const place = digest(rootLink.text)
  const found = known?.find(place) as { kid: string; claims: RootClaims } | undefined
  const { kid, claims: root } = found ?? requireRoot(rootLink, findKey)
  if (!found) known?.keep(place, { kid, claims: root }, rootLink.text.length)
  if (links.length - 1 > root.del_max) throw refused('the chain is longer than its root allows')
  return { kid, root, links }
}

/** Verifies the rest of the chain. */
export function verifyChildren(
  { kid, root, links }: OpenedChain,
  { now, known }: Pick<VerifyOptions, 'now'> & { known?: KnownLinks },
): Capability {
  const [rootLink, ...childLinks] = links as [DecodedJws, ...DecodedJws[]]
  const jtis = [root.jti]
  let parent: { text: string; ops: string[]; ks: string[]; exp: number; cnf?: { jwk: PublicJwk } } = {
    text: rootLink.text,
    ...root,
  }
  let notBefore = root.nbf
  let chain = rootLink.text
  for (const link of childLinks) {
    chain = `${chain}~${link.text}`
    const place = digest(chain)
    const found = known?.find(place) as ChildClaims | undefined
    const child = found ?? requireChild(link, parent)
    if (!found) known?.keep(place, child, link.text.length)
    jtis.push(child.jti)
    notBefore = Math.max(notBefore, child.nbf ?? 0)
    parent = { text: link.text, ...child }
  }
  if (parent.cnf)
    throw new CapabilityError(
      'CAPABILITY_UNSEALED',
      'The last link carries a key: it can be narrowed, not used. Seal it first.',
    )
  const capability: Capability = {
    kid,
    root,
    ops: new Set(parent.ops),
    ks: parent.ks,
    jtis,
    // A child never expires after its parent, so the last link expires first.
    expiresAt: parent.exp,
    notBefore,
    firstChildJti: jtis[1],
    isBareRoot: links.length === 1,
  }
  requireInTime(capability, now)
  return capability
}

/** Also checked at each use of a cached capability. */
export function requireInTime({ expiresAt, notBefore }: { expiresAt: number; notBefore: number }, now: number): void {
  if (now >= expiresAt + TOLERANCE_S)
    throw new CapabilityError('CAPABILITY_EXPIRED', 'The capability has expired. Ask for a new one.')
  if (now < notBefore - TOLERANCE_S) throw refused('the capability is not valid yet')
}

/** Header and claims of every link, unverified: for display only, never for decisions. */
export function inspectCapability(
  text: string,
): { header: Record<string, unknown>; claims: Record<string, unknown> }[] {
  return decodeChain(text).map(({ header, claims }) => ({ header, claims }))
}

export function mintRoot(claims: RootClaims, key: { kid: string; privateKey: KeyObject }): string {
  return signJws({ alg: 'EdDSA', typ: ROOT_TYPE, kid: key.kid }, claims, key.privateKey)
}

/** A chain that ends in `cnf`, and the private key of that cnf: with both its holder narrows offline. */
export interface Delegation {
  chain: string
  key: PrivateJwk
}

export interface Narrowing {
  ops?: string[]
  ks?: string[]
  exp?: number
  nbf?: number
  jti?: string
}

/** A usable child with fewer rights. What is not given is inherited; widening is refused here already. */
export function seal(parent: Delegation, narrowing: Narrowing = {}): string {
  return `${parent.chain}~${signChild(parent, narrowing, undefined)}`
}

/** A child with a key of its own, which its receiver can narrow again. */
export function attenuate(parent: Delegation, narrowing: Narrowing = {}): Delegation {
  const { publicJwk, privateJwk } = newKeyPair()
  return { chain: attenuateFor(parent, publicJwk, narrowing), key: privateJwk }
}

export function attenuateFor(parent: Delegation, holder: PublicJwk, narrowing: Narrowing = {}): string {
  return `${parent.chain}~${signChild(parent, narrowing, holder)}`
}

function signChild(parent: Delegation, narrowing: Narrowing, holder: PublicJwk | undefined): string {
  const links = decodeChain(parent.chain)
  const last = links.at(-1) as DecodedJws
  const from = last.claims as unknown as ChildClaims
  if (!from.cnf) throw refused('the chain is sealed and cannot be narrowed further')
  if (from.cnf.jwk.x !== parent.key.x) throw refused('the key does not belong to the end of the chain')
  const root = (links[0] as DecodedJws).claims as unknown as RootClaims
  if (links.length > root.del_max) throw refused('the root allows no further link')
  const child: ChildClaims = {
    par: digest(last.text),
    ops: narrowing.ops ?? from.ops,
    ks: narrowing.ks ?? from.ks,
    exp: narrowing.exp ?? from.exp,
    jti: narrowing.jti ?? newId('cap'),
    ...(narrowing.nbf === undefined ? {} : { nbf: narrowing.nbf }),
    ...(holder ? { cnf: { jwk: holder } } : {}),
  }
  requireNarrower(child, from)
  return signJws({ alg: 'EdDSA', typ: CHILD_TYPE }, child, privateKeyOf(parent.key))
}

function decodeChain(text: string): DecodedJws[] {
  if (text.length > BYTES_MAX) throw refused('the capability is over 8 KiB')
  const parts = text.split('~')
  if (parts.length > LINKS_MAX) throw refused('the chain has more than five links')
  return parts.map(
    (part) =>
      decodeJws(part) ?? fail('this is not a capability. Management issues them: POST /api/v1/tenants/{id}/tokens'),
  )
}

function requireRoot(
  { text, header, claims }: DecodedJws,
  findKey: VerifyOptions['findKey'],
): { kid: string; claims: RootClaims } {
  requireHeader(header, ROOT_TYPE, ['kid'])
  const kid = header.kid
  const key = typeof kid === 'string' ? findKey(kid) : undefined
  if (typeof kid !== 'string' || !key || !verifyJws(text, key)) throw refused('the root is not signed by a known key')
  requireClaims(claims, ROOT_CLAIMS)
  const root = claims as unknown as RootClaims
  if (root.aud !== root.svc) throw refused('the audience is not the service')
  if (root.ops.includes('operator') && (root.cnf || root.del_max > 0))
    throw refused('operator rights cannot be delegated')
  return { kid, claims: root }
}

function requireChild(
  { text, header, claims }: DecodedJws,
  parent: { text: string; ops: string[]; ks: string[]; exp: number; cnf?: { jwk: PublicJwk } },
): ChildClaims {
  requireHeader(header, CHILD_TYPE, [])
  const key = parent.cnf && publicKeyOf(parent.cnf.jwk)
  if (!key || !verifyJws(text, key)) throw refused('a link is not signed by the key of its parent')
  requireClaims(claims, CHILD_CLAIMS)
  const child = claims as unknown as ChildClaims
  if (child.par !== digest(parent.text)) throw refused('a link names another parent')
  requireNarrower(child, parent)
  return child
}

function requireNarrower(
  child: { ops: string[]; ks: string[]; exp: number },
  parent: { ops: string[]; ks: string[]; exp: number },
): void {
  if (!child.ops.every((op) => parent.ops.includes(op))) throw refused('a link widens the operations of its parent')
  if (!child.ks.every((keyspace) => isKeyspace(keyspace) && coversKeyspace(parent.ks, keyspace)))
    throw refused('a link widens the keyspaces of its parent')
  if (child.exp > parent.exp) throw refused('a link outlives its parent')
}

function requireHeader(header: Record<string, unknown>, type: string, also: string[]): void {
  const known = ['alg', 'typ', ...also]
  if (header.alg !== 'EdDSA' || header.typ !== type || Object.keys(header).some((name) => !known.includes(name)))
    throw refused('a link has an unexpected header')
}

type Check = (value: unknown) => boolean

const isText: Check = (value) => typeof value === 'string' && value.length > 0 && value.length <= 200
const isSeconds: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0
const isTexts: Check = (value) => Array.isArray(value) && value.length <= 100 && value.every(isText)
const isKeyspaces: Check = (value) => Array.isArray(value) && value.length <= 100 && value.every(isKeyspace)
const isDepth: Check = (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) < LINKS_MAX
const isConfirmation: Check = (value) => {
  if (value === null || typeof value !== 'object') return false
  const { jwk, ...rest } = value as Record<string, unknown>
  return Object.keys(rest).length === 0 && isPublicJwk(jwk)
}

interface ClaimRules {
  required: Record<string, Check>
  optional: Record<string, Check>
}

const ROOT_CLAIMS: ClaimRules = {
  required: {
    iss: isText,
    aud: isText,
    org: isText,
    ten: isText,
    svc: isText,
    ops: isTexts,
    ks: isKeyspaces,
    iat: isSeconds,
    nbf: isSeconds,
    exp: isSeconds,
    jti: isText,
    del_max: isDepth,
  },
  optional: { sub: isText, cnf: isConfirmation },
}

const CHILD_CLAIMS: ClaimRules = {
  required: { par: isText, ops: isTexts, ks: isKeyspaces, exp: isSeconds, jti: isText },
  optional: { cnf: isConfirmation, iat: isSeconds, nbf: isSeconds },
}

/** An unknown claim is refused: it may be a restriction that this verifier does not know. */
function requireClaims(claims: Record<string, unknown>, { required, optional }: ClaimRules): void {
  for (const [name, check] of Object.entries(required))
    if (!check(claims[name])) throw refused(`a link has a missing or malformed claim ${name}`)
  for (const [name, value] of Object.entries(claims)) {
    if (Object.hasOwn(required, name)) continue
    if (!Object.hasOwn(optional, name) || !optional[name]?.(value)) throw refused('a link has an unknown claim')
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

function refused(reason: string): CapabilityError {
  return new CapabilityError('UNAUTHENTICATED', `The capability does not verify: ${reason}.`)
}

function fail(reason: string): never {
  throw refused(reason)
}
