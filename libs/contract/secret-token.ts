// The text of a credential that is looked up by id and compared by digest: `loci_<kind>_<id>_<secret><crc>`. With the
// checksum a scanner recognises a real one, and a verifier refuses a mistyped one, without a database lookup.

import { crc32 } from 'node:zlib'

/** `ocd`: a code of OAuth; `ort`: a refresh token. */
type SecretKind = 'ptr' | 'sk' | 'ocd' | 'ort'

/** `id` with its type (`ptr_…`); `secret` is 43 characters of base64url, 256 random bits. */
export function formatSecretToken(kind: SecretKind, id: string, secret: string): string {
  const text = `loci_${kind}_${id.slice(id.indexOf('_') + 1)}_${secret}`
  return text + checksum(text)
}

/** The 26 characters of the id; undefined if the text is not such a token or its checksum is wrong. */
export function readSecretToken(kind: SecretKind, text: string): string | undefined {
  const match = /^loci_([a-z]+)_([0-9a-hjkmnp-tv-z]{26})_[A-Za-z0-9_-]{43}([0-9a-f]{8})$/.exec(text)
  if (match?.[1] !== kind || match[3] !== checksum(text.slice(0, -8))) return undefined
  return match[2]
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0')
}
