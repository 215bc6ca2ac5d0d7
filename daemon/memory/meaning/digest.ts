// Which tables of meaning a program has: two releases with other tables may answer the same question differently.

import { createHash } from 'node:crypto'
import { KINDS } from './kinds.ts'
import { THESAURUS } from './thesaurus.ts'

/** SHA-256 over both, in hex. */
export const MEANING_DIGEST = createHash('sha256').update(THESAURUS.bytes).update(KINDS.bytes).digest('hex')
