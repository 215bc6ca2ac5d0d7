// The last events of a service, for all pages that follow it: cut out of what its daemon sends, passed on byte by byte.
//
// Entries have places, 1, 2, 3, … in the order in which they came. A position is what a client is told and sends back
// as Last-Event-ID: the number of an event, or a text that only the daemon can read where it seals positions. What is
// too old is dropped; whoever comes back from before that is no business of the tail.

export interface Entry {
  place: number
  /** The position behind it; not there for a notice. */
  id: string | undefined
  /** Of an event. Comments tell a position and have none. */
  seq: number | undefined
  isTruncated: boolean
  /** Empty for a comment. */
  bytes: Buffer
}

export interface Tail {
  /** Takes in what came, and answers how much of it was whole. */
  take(chunk: Buffer): number
  /** The place of the last entry. */
  end(): number
  /** The position behind the last entry. */
  lastId(): string | undefined
  /** The place of a position, or of the last event up to it. Undefined where that cannot be known. */
  find(id: string): number | undefined
  /** Undefined when some of them were dropped. */
  after(place: number): Entry[] | undefined
}

const NOTHING = Buffer.alloc(0)
const ENTRIES_MAX = 1_000

export function createTail({ startId, bytesMax }: { startId: string | undefined; bytesMax(): number }): Tail {
  const cut = createCutter()
  const entries: Entry[] = []
  let bytes = 0
  let end = 0
  let lastId = startId
  // Before the first entry that is kept, or that find() may look at: numbers begin anew with `truncated`.
  let floor = { place: 0, id: startId, seq: seqOf(startId) }

  function add({ id, event, bytes: text }: Frame): void {
    if (event === undefined && id === undefined) return
    lastId = id ?? lastId
    const isTruncated = event === 'truncated'
    end += 1
    entries.push({ place: end, id, seq: seqOf(id), isTruncated, bytes: event === undefined ? NOTHING : text })
    bytes += event === undefined ? 0 : text.length
    if (isTruncated) floor = { place: end, id, seq: seqOf(id) }
    while (entries.length > ENTRIES_MAX || bytes > bytesMax()) {
      const dropped = entries.shift() as Entry
      bytes -= dropped.bytes.length
      if (dropped.place > floor.place)
        floor = { place: dropped.place, id: dropped.id ?? floor.id, seq: dropped.seq ?? floor.seq }
    }
  }

  return {
    take(chunk) {
      const frames = cut(chunk)
      for (const frame of frames) add(frame)
      return frames.length
    },
    end: () => end,
    lastId: () => lastId,
    find(id) {
      const seq = seqOf(id)
      let found: Entry | undefined
      let newest: number | undefined
      for (const entry of entries) {
        if (entry.place <= floor.place) continue
        if (entry.id === id || (seq !== undefined && entry.seq !== undefined && entry.seq <= seq)) found = entry
        newest = entry.seq ?? newest
      }
      if (found?.id === id) return found.place
      if (floor.id === id) return floor.place
      if (seq === undefined || floor.seq === undefined || seq < floor.seq || seq > (newest ?? floor.seq))
        return undefined
      return found?.place ?? floor.place
    },
    after(place) {
      const first = entries[0]?.place ?? end + 1
      return place < first - 1 ? undefined : entries.slice(place - first + 1)
    },
  }
}

/** Of a position that is a plain number. */
export function seqOf(id: string | undefined): number | undefined {
  return id !== undefined && /^[0-9]{1,15}$/.test(id) ? Number(id) : undefined
}

export interface Frame {
  id: string | undefined
  event: string | undefined
  bytes: Buffer
}

/** No frame of a daemon is longer. */
const FRAME_BYTES_MAX = 256 * 1024

/** Cuts what comes into frames; an unfinished one waits for its end. */
export function createCutter(): (chunk: Buffer) => Frame[] {
  let rest = NOTHING
  return (chunk) => {
    let text = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const frames: Frame[] = []
    for (let at = text.indexOf('\n\n'); at >= 0; at = text.indexOf('\n\n')) {
      frames.push(frameOf(text.subarray(0, at + 2)))
      text = text.subarray(at + 2)
    }
    if (text.length > FRAME_BYTES_MAX) throw new Error('a frame of a stream of events that is too long')
    // A copy: a part of a chunk would keep all of it.
    rest = Buffer.from(text)
    return frames
  }
}

function frameOf(bytes: Buffer): Frame {
  const text = bytes.toString()
  const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(text)?.[1]
  return { id: field('id'), event: field('event'), bytes: Buffer.from(bytes) }
}
