// The position of a stream, as its client is told it: the number of the instance where the capability covers
// everything, sealed where it covers a part. A plain number in each comment would tell a narrow capability how much
// others write. The events that it sees keep their numbers.

import { coversKeyspace } from '@loci/capability/keyspaces.ts'
import type { StreamPositions } from '@loci/chassis/event-stream.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import { DOMAINS } from '@loci/contract/operations.ts'

/** Of every number, so that the length tells nothing. */
const DIGITS = 15
/** Its name of a key, and as many bytes as every sealed number has: 12 before, 16 behind. */
const SEALED = new RegExp(`^[^.]+\\.[\\w-]{${Math.ceil(((12 + DIGITS + 16) * 4) / 3)}}$`)
/** Before every event: the answer is `truncated`, and what is kept. */
const TOO_OLD = -1

export function positionsOf(
  sealer: Sealer,
  { instanceId, ks }: { instanceId: string; ks: readonly string[] },
): StreamPositions {
  const context = `events of ${instanceId}`
  const isWhole = DOMAINS.every((domain) => coversKeyspace(ks, `${domain}/*`))
  return {
    show(seq) {
      if (isWhole) return String(seq)
      const { sealed, sealedWith } = sealer.seal(String(seq).padStart(DIGITS, '0'), context)
      return `${sealedWith}.${sealed}`
    },
    read(text) {
      if (!SEALED.test(text)) return undefined
      const at = text.indexOf('.')
      try {
        return Number(sealer.open(text.slice(at + 1), text.slice(0, at), context))
      } catch {
        // Its key was taken away, or it is of another instance. A client that was refused would repeat it for ever.
        return TOO_OLD
      }
    },
  }
}
