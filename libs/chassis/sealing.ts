// Secrets at rest: AES-256-GCM under a key that is not in the database. The first of the sealing keys seals, all of
// them open, so that a sealing key is changed by putting a new one in front and taking the old one away when nothing is
// sealed with it.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { SealingKey } from './setting-values.ts'

export interface Sealer {
  /** `context` is bound in: what was sealed for one key id cannot be put in place of another's. */
  seal(secret: string, context: string): { sealed: string; sealedWith: string }
  open(sealed: string, sealedWith: string, context: string): string
}

const IV_BYTES = 12
const TAG_BYTES = 16

export function createSealer(keys: SealingKey[]): Sealer {
  return {
    seal(secret, context) {
      const [first] = keys
      if (!first) throw new Error('there is no sealing key: set LOCI_SEALING_KEYS')
      const iv = randomBytes(IV_BYTES)
      const cipher = createCipheriv('aes-256-gcm', first.key, iv).setAAD(Buffer.from(context))
      const sealed = Buffer.concat([iv, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return { sealed: sealed.toString('base64url'), sealedWith: first.id }
    },
    open(sealed, sealedWith, context) {
      const key = keys.find(({ id }) => id === sealedWith)
      if (!key) throw new SealingKeyMissing(sealedWith)
      const bytes = Buffer.from(sealed, 'base64url')
      const decipher = createDecipheriv('aes-256-gcm', key.key, bytes.subarray(0, IV_BYTES))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        return decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch (error) {
        throw new SealingKeyMissing(sealedWith, { cause: error })
      }
    },
  }
}

/** The configuration lacks the key, or has another one under its name. */
export class SealingKeyMissing extends Error {
  constructor(id: string, options?: ErrorOptions) {
    super(
      `LOCI_SEALING_KEYS does not open what was sealed with the key '${id}': add that key, behind the first`,
      options,
    )
    this.name = 'SealingKeyMissing'
  }
}
