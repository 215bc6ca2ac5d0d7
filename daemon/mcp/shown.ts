// How results are told: nothing empty, and never more than a model can read.

export type Answer = Record<string, unknown>

/**
 * Bytes of JSON of the list in a result, and of a second one beside it. A result holds both twice, as text and as
 * structured content: 48 KB, which are below 25,000 tokens even where a token is two bytes. A memory as long as one
 * may be (16 KiB) fits.
 */
const ROOM = 20_000
export const ROOM_BESIDE = 4_000
/** Of the text of a resource, as it is sent. */
const RESOURCE_ROOM = 48_000
/** Of one text in it, as JSON: control characters take six bytes each there. */
const TEXT_ROOM = 17_000
const CUT = ' … (cut)'

interface Fitted {
  shown: Answer[]
  /** How many there would have been besides. */
  leftOut: { leftOut?: number }
}

/**
 * The first of them, as many as there is room for; a text that has too much is cut and says so. By what stands beside
 * the text too: the first one always fits, and hides nothing behind it.
 */
export function fitted(all: Answer[], textName: string, room = ROOM): Fitted {
  let left = room
  const shown: Answer[] = []
  for (const one of all) {
    const fit = cut(one, textName, room)
    left -= bytesOf(fit)
    if (left < 0) break
    shown.push(fit)
  }
  return { shown, leftOut: shown.length < all.length ? { leftOut: all.length - shown.length } : {} }
}

function cut(one: Answer, name: string, room: number): Answer {
  const textRoom = Math.min(TEXT_ROOM, room - bytesOf({ ...one, [name]: '' }))
  return bytesOf(one[name] ?? null) <= textRoom ? one : { ...one, [name]: cutText(plain(one[name]), textRoom) }
}

function cutText(text: string, room: number): string {
  let kept = text
  while (kept !== '' && bytesOf(kept + CUT) > room) kept = kept.slice(0, Math.floor(kept.length / 2))
  return kept + CUT
}

/** For a resource, which is read whole: what is no text is left out by name, the largest first; then texts are cut. */
export function withinRoom(from: Answer): Answer {
  const leftOut: string[] = []
  const told = () => (leftOut.length > 0 ? { ...shown, leftOut } : shown)
  let shown = from
  // It is sent as a text, whose quotation marks take one byte more.
  while (bytesOf(JSON.stringify(told())) > RESOURCE_ROOM) {
    const bySize = Object.entries(shown).sort(([, a], [, b]) => bytesOf(b) - bytesOf(a))
    const [name, value] = (bySize.find(([, one]) => typeof one === 'object') ?? bySize[0]) as [string, unknown]
    const { [name]: _, ...others } = shown
    if (typeof value === 'string') shown = { ...shown, [name]: cutText(value, bytesOf(value) / 2) }
    else {
      leftOut.push(name)
      shown = others
    }
  }
  return told()
}

/** Without members that say nothing; a list may hold anything. */
export function withoutEmpty(from: Answer): Answer {
  return Object.fromEntries(Object.entries(from).filter(([, value]) => !isEmpty(value)))
}

/** For the text of a result, at every depth. */
export function withoutEmptyWithin(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmptyWithin)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).map(([name, inner]) => [name, withoutEmptyWithin(inner)] as const)
  return Object.fromEntries(kept.filter(([, inner]) => !isEmpty(inner)))
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}

/** What a cycle did to what is in mind. */
export function inWords(
  content: { inMind: Answer[]; left: Answer[]; warnings?: unknown } & Answer,
  { capacity, evicted }: { capacity: number | undefined; evicted: number },
): string {
  const { inMind, left, warnings } = content
  const lines = [`Cycle ${content.seq} (${content.id}) ran.`]
  if (capacity === undefined) lines.push('What is in mind is not shown: the capability lacks wm:read.')
  else if (inMind.length === 0) lines.push('Nothing is in mind now.')
  else lines.push(`In mind now (${inMind.length} of ${capacity} places), strongest first:`, ...inMind.map(slotLine))
  if (left.length > 0) lines.push('What left:', ...left.map(({ key, reason }) => `- ${key}: ${reason}`))
  else if (evicted > 0) lines.push(`${evicted} left.`)
  if (Array.isArray(warnings) && warnings.length > 0)
    lines.push('Warnings:', ...warnings.map((one) => `- ${plain(one)}`))
  return lines.join('\n')
}

function slotLine({ value }: Answer): string {
  return `- ${plain(value)}`
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value))
}
