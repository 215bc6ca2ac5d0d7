// The position of a stream, as its client is told it: the number of the instance where the capability covers
// everything, sealed where it covers a part. A plain number in each comment would tell a narrow capability how much
// others write. The events that it sees keep their numbers.

import { coversKeyspace } from '@loci/capability/keyspaces.ts'
import type { StreamPositions } from '@loci/chassis/event-stream.ts'
import type { Sealer } from '@loci/chassis/sealing.ts'
import { DOMAINS } from '@loci/contract/operations.ts'

/** Of every number, so that the length tells nothing. */
const DIGITS = 15

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
      const at = text.lastIndexOf('.')
      if (at < 0) return undefined
      try {
        return Number(sealer.open(text.slice(at + 1), text.slice(0, at), context))
      } catch {
        // Not sealed by us, or of another instance: the caller is told that it is no position.
        return undefined
      }
    },
  }
}
