// How one page reads the events of a service: along with the tail that all pages share, or, where it comes back from
// before that tail, from a stream of its own until it meets it.

import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { StreamPage } from '@loci/chassis/event-stream.ts'
import { Reply } from '@loci/chassis/route.ts'
import { createCutter, type Frame, seqOf } from './tail.ts'
import { type Connect, SILENCE_MS, type Upstream } from './upstream.ts'

export interface Reader {
  read(): Promise<StreamPage>
  wait(ms: number, signal: AbortSignal): Promise<void>
  /** The position of what was read last. */
  lastId(): string
  /** It cannot go on; the page comes back with its position. */
  readonly isOver: boolean
  close(): void
}

interface Apart {
  chunks: AsyncIterator<Buffer>
  cut(chunk: Buffer): Frame[]
  /** The end of the tail when it was asked for: it has, or will bring, all that the tail had until then. */
  mark: number
  close(): void
}

const NOTHING = Buffer.alloc(0)

/** A refusal where the daemon gives one, as for a position that is none. `claim`: room for a stream of its own. */
export async function createReader(
  upstream: Upstream,
  { lastId, connect, claim }: { lastId: string | undefined; connect: Connect; claim(): () => void },
): Promise<Reader | Reply> {
  let position = lastId ?? upstream.tail.lastId()
  // Events up to it are known to the page.
  let known = seqOf(position)
  let place = 0
  let apart: Apart | undefined
  let isOver = false

  const found = lastId === undefined ? upstream.tail.end() : upstream.tail.find(lastId)
  if (found === undefined) {
    const refusal = await goBack()
    if (refusal) return refusal
  } else place = found

  async function goBack(): Promise<Reply | undefined> {
    const release = claim()
    const over = new AbortController()
    try {
      const mark = upstream.tail.end()
      const answer = await connect(position, over.signal)
      if (answer instanceof Reply) {
        release()
        return answer
      }
      apart = apartOf(answer, mark, () => {
        release()
        over.abort()
      })
      return undefined
    } catch (error) {
      release()
      throw error
    }
  }

  async function readApart({ chunks, cut, mark, close }: Apart): Promise<StreamPage> {
    const next = await chunks.next().catch(() => undefined)
    if (!next || next.done) {
      isOver = true
      return { bytes: NOTHING, next: 0, more: false }
    }
    const sent: Buffer[] = []
    let isAtEnd = false
    for (const { id, event, bytes } of cut(next.value)) {
      position = id ?? position
      if (event === 'truncated') known = undefined
      known = seqOf(id) ?? known
      if (event !== undefined) sent.push(bytes)
      // A daemon beats when it has read to the end; its first words, which ask to come back in time, are no beat.
      else if (id !== undefined) isAtEnd = true
    }
    const { tail } = upstream
    const met = known === undefined ? undefined : tail.find(String(known))
    const joined = met ?? (isAtEnd && tail.after(mark) ? mark : undefined)
    if (joined !== undefined) {
      place = joined
      apart = undefined
      close()
    }
    return { bytes: Buffer.concat(sent), next: 0, more: true }
  }

  return {
    async read() {
      if (isOver || upstream.isOver) return { bytes: NOTHING, next: 0, more: false }
      if (apart) return readApart(apart)
      const entries = upstream.tail.after(place)
      if (!entries) {
        // It was read more slowly than the tail forgets.
        const isLost = await goBack().then(Boolean, () => true)
        isOver = isLost
        return { bytes: NOTHING, next: 0, more: !isLost }
      }
      const sent: Buffer[] = []
      for (const { place: at, id, seq, isTruncated, bytes } of entries) {
        place = at
        if (isTruncated) known = undefined
        else if (seq !== undefined && known !== undefined && seq <= known) continue
        known = seq ?? known
        position = id ?? position
        if (bytes.length > 0) sent.push(bytes)
      }
      return { bytes: Buffer.concat(sent), next: 0, more: false }
    },
    async wait(ms, signal) {
      if (isOver || upstream.isOver) await sleep(ms, undefined, { signal }).catch(() => undefined)
      else await upstream.wait(place, ms, signal)
    },
    lastId: () => position ?? '',
    get isOver() {
      return isOver || upstream.isOver
    },
    close() {
      apart?.close()
      apart = undefined
    },
  }
}

function apartOf(answer: IncomingMessage, mark: number, close: () => void): Apart {
  answer.setTimeout(SILENCE_MS, () => void answer.destroy())
  answer.once('error', () => {})
  return { chunks: answer[Symbol.asyncIterator]() as AsyncIterator<Buffer>, cut: createCutter(), mark, close }
}
