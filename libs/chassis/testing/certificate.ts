// A self-signed certificate for a name, made on the spot: a private key in the repository would be found by every
// scanner, and openssl is not on every machine. X.509 (RFC 5280) with Ed25519 (RFC 8410), only what a TLS handshake
// asks for.

import { generateKeyPairSync, sign } from 'node:crypto'

/** `days`: until when it holds. */
export function selfSigned(host = '127.0.0.1', days?: number): { cert: string; key: string } {
  const end = days === undefined ? '491231235959Z' : timeOf(new Date(Date.now() + days * 86_400_000))
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const name = sequence(set(sequence(oid(0x55, 0x04, 0x03), node(0x0c, Buffer.from(host)))))
  const algorithm = sequence(oid(0x2b, 0x65, 0x70))
  const body = sequence(
    node(0xa0, node(0x02, Buffer.from([2]))), // version 3
    node(0x02, Buffer.from([1])), // serial number
    algorithm,
    name,
    sequence(utcTime('200101000000Z'), utcTime(end)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
  )
  const signature = node(0x03, Buffer.concat([Buffer.from([0]), sign(null, body, privateKey)]))
  const text = sequence(body, algorithm, signature).toString('base64').replace(/.{64}/g, '$&\n')
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
  }
}

function node(tag: number, content: Buffer): Buffer {
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from([tag, ...size]), content])
}

function sequence(...parts: Buffer[]): Buffer {
  return node(0x30, Buffer.concat(parts))
}

function set(...parts: Buffer[]): Buffer {
  return node(0x31, Buffer.concat(parts))
}

function oid(...bytes: number[]): Buffer {
  return node(0x06, Buffer.from(bytes))
}

/** YYMMDDhhmmssZ */
function timeOf(at: Date): string {
  return `${at.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`
}

function utcTime(text: string): Buffer {
  return node(0x17, Buffer.from(text))
}
