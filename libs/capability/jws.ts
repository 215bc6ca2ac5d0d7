// Compact JWS with Ed25519 only: with one algorithm there is none to confuse. The header never selects how to verify;
// callers compare it with the expected one.

import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'

export interface PublicJwk {
  kty: 'OKP'
  crv: 'Ed25519'
  x: string
}

export interface PrivateJwk extends PublicJwk {
  d: string
}

export interface DecodedJws {
  text: string
  header: Record<string, unknown>
  claims: Record<string, unknown>
}

/** 64 bytes of signature in base64url. */
const SIGNATURE_LENGTH = 86

export function signJws(header: object, claims: object, key: KeyObject): string {
  const input = `${encode(header)}.${encode(claims)}`
  return `${input}.${sign(null, Buffer.from(input), key).toString('base64url')}`
}

/**
 * Header and claims, unverified. Undefined unless it is a compact JWS of two JSON objects that every verifier reads
 * alike: no duplicate members (some parsers take the first, JavaScript the last), valid UTF-8, base64url without
 * padding or stray bits.
 */
export function decodeJws(text: string): DecodedJws | undefined {
  const parts = text.split('.')
  if (parts.length !== 3) return undefined
  const [header, claims, signature] = [decodeObject(parts[0]), decodeObject(parts[1]), decodeCanonical(parts[2])]
  if (!signature) return undefined
  return header && claims && { text, header, claims }
}

export function verifyJws(text: string, key: KeyObject): boolean {
  const at = text.lastIndexOf('.')
  const signature = text.slice(at + 1)
  if (signature.length !== SIGNATURE_LENGTH) return false
  return verify(null, Buffer.from(text.slice(0, at)), key, Buffer.from(signature, 'base64url'))
}

/** Undefined unless it is exactly a public Ed25519 key; a private key in a token would be a leak. */
export function publicKeyOf(jwk: unknown): KeyObject | undefined {
  if (!isPublicJwk(jwk)) return undefined
  try {
    return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: jwk.x }, format: 'jwk' })
  } catch {
    return undefined
  }
}

export function privateKeyOf({ x, d }: PrivateJwk): KeyObject {
  return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', x, d }, format: 'jwk' })
}

export function newKeyPair(): { publicJwk: PublicJwk; privateJwk: PrivateJwk } {
  const { x, d } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' }) as { x: string; d: string }
  return { publicJwk: { kty: 'OKP', crv: 'Ed25519', x }, privateJwk: { kty: 'OKP', crv: 'Ed25519', x, d } }
}

/** Checks the form only; whether it is a point of the curve shows when it is used. */
export function isPublicJwk(jwk: unknown): jwk is PublicJwk {
  if (jwk === null || typeof jwk !== 'object') return false
  const { kty, crv, x, ...rest } = jwk as Record<string, unknown>
  return (
    kty === 'OKP' &&
    crv === 'Ed25519' &&
    typeof x === 'string' &&
    /^[A-Za-z0-9_-]{43}$/.test(x) &&
    Object.keys(rest).length === 0
  )
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeObject(part: string | undefined): Record<string, unknown> | undefined {
  const bytes = decodeCanonical(part)
  if (!bytes) return undefined
  try {
    const text = utf8.decode(bytes)
    const value: unknown = JSON.parse(text)
    if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
    return countColons(text) === countMembers(value) ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** The bytes, if the text is their canonical encoding. */
function decodeCanonical(part: string | undefined): Buffer | undefined {
  const bytes = Buffer.from(part ?? '', 'base64url')
  return bytes.length > 0 && bytes.toString('base64url') === part ? bytes : undefined
}

/** Outside of strings each colon follows a member's name, so more colons than members means a duplicate name. */
function countColons(text: string): number {
  let colons = 0
  let inString = false
  for (let i = 0; i < text.length; i += 1) {
    const c = text.charCodeAt(i)
    if (inString && c === 92 /* \ */) i += 1
    else if (c === 34 /* " */) inString = !inString
    else if (c === 58 /* : */ && !inString) colons += 1
  }
  return colons
}

function countMembers(value: unknown): number {
  if (value === null || typeof value !== 'object') return 0
  const inner = Object.values(value)
  return (Array.isArray(value) ? 0 : inner.length) + inner.reduce((sum: number, one) => sum + countMembers(one), 0)
}
