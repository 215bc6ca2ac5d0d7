// Whether a part of an audit chain is whole: each entry carries the hash of the one before, and numbers go up by one.
// What an entry's own hash says of its content is checked by the server, which has the bytes.

interface Link {
  seq: number
  hash: string
  prev_hash: string | null
}

export interface ChainState {
  /** Undefined: whole. Else the entry whose predecessor is not the one that it names. */
  brokenAt: number | undefined
  /** Whether the first entry of the chain is among them. */
  isToBegin: boolean
}

/** Newest first, as they are listed. */
export function chainOf(entries: readonly Link[]): ChainState {
  const broken = entries.find((entry, at) => {
    const before = entries[at + 1]
    return before !== undefined && (entry.prev_hash !== before.hash || entry.seq !== before.seq + 1)
  })
  return { brokenAt: broken?.seq, isToBegin: entries.at(-1)?.prev_hash === null }
}
