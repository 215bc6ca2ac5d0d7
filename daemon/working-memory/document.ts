// What writes do to the slots of one database: a pure function of the document as it was read, the configuration and
// the writes, in their order. It makes steps, which one call of the database then does if the document is still the
// one that was read; if not, everything is planned anew. No lock is held here.
//
// A write over capacity competes: the newcomer is admitted, and of the slots that are not pinned the one that the
// policy puts last leaves; what cycles brought before what somebody wrote.
//   activation  the lowest activation now
//   lru         the one that was not written for the longest, by version: a clock that steps changes nothing
//   fifo        the one that was made first
//   reject      none: the write is refused
// Room is the configured number of slots, and 256 KiB for all of them.

import { ApiError } from '@loci/chassis/api-error.ts'
import { newId } from '@loci/contract/ids.ts'
import type { Explanation, SlotPatch, SlotWrite } from '@loci/contract/working-memory.ts'
import { hintFrom } from '../databases/hints.ts'
import type { IfMatch } from '../databases/versions.ts'
import { explain, present } from './activation.ts'
import type { Policy, SlotConfig } from './config.ts'
import { surfaceOf } from './salience.ts'
import { bodyOf, contentOf, type Meta, patched, restOf, SLOTS_BYTES_MAX, type Source, sizeOf } from './slots.ts'

export interface Resident {
  key: string
  version: number
  expiresAt: number | null
  /** Undefined: the slot does not fit its digest, so nothing of it is used. */
  meta: Meta | undefined
  /** Only of slots that a write asked for. */
  text: string | null
}

export interface Document {
  /** 0: there is none. */
  version: number
  /** The database's clock when it was read, in milliseconds: the only clock of a write. */
  now: number
  /** The number of the last cycle. */
  cycle: number
  /** In the order in which they were made. */
  slots: Resident[]
}

export type Write =
  | { op: 'put'; key: string; body: SlotWrite; ifMatch: IfMatch; source: Source }
  | { op: 'patch'; key: string; patch: SlotPatch; ifMatch: IfMatch; source: Source }
  | { op: 'delete'; key: string; ifMatch: IfMatch }

export interface Why {
  reasonCode: 'outcompeted' | 'below_threshold' | 'over_limit' | 'superseded' | 'expired' | 'cleared' | 'deleted'
  reason: string
  displacedBy: string | null
  policy: Policy | null
  explain: Explanation
}

export type Evicted = { key: string } & Omit<Why, 'policy'>

/** What the database does, in order; each takes the next number of the database. */
export type Step =
  /** `content`: what it says as a text, of which the HMAC is stored. */
  | { op: 'put'; key: string; rest: string; meta: Meta; expiresAt: number | null; content: string }
  /** What a cycle has seen of a slot that stays as it is: no new version. */
  | { op: 'touch'; key: string; rest: string; meta: Meta; expiresAt: number | null }
  | { op: 'remove'; key: string; why: Why }

export interface Applied {
  /** Its step, which gives the version; null when there was nothing to delete. */
  step: number | null
  evicted: Evicted[]
}

export interface Plan {
  readonly steps: readonly Step[]
  /** Whether a write made a step; slots that had expired alone are no reason to commit. */
  hasWrites(): boolean
  /** Throws an ApiError or a PlannedConflict, and leaves the plan as it was, when the write is refused. */
  apply(write: Write): Applied
  /** All or none of them. */
  applyAll(writes: Write[]): Applied[]
  /** The slots that leave, and the keys of those that stay. */
  clear(includePinned: boolean): { cleared: { key: string; version: number }[]; retained: string[] }
  isThere(key: string): boolean
  /** The slots once the steps are done, with the versions that they got. */
  after(versions: readonly number[]): Resident[]
}

/** A slot as the plan sees it: `order` is its version, or behind every version for one that the plan itself wrote. */
interface Held {
  key: string
  /** Undefined until the commit gives it. */
  version: number | undefined
  /** The step that wrote it, if the plan did. */
  step: number | undefined
  order: number
  expiresAt: number | null
  meta: Meta | undefined
  body: () => SlotWrite
}

const PLANNED = Number.MAX_SAFE_INTEGER - 1_000_000

export function createPlan(document: Document, config: SlotConfig): Plan {
  const { now, cycle } = document
  const at = { now, cycle }
  const steps: Step[] = []
  let slots: Held[] = document.slots.map((slot) => ({
    ...slot,
    step: undefined,
    order: slot.version,
    body: () => bodyOf(slot.text as string),
  }))
  for (const { key, expiresAt, meta } of slots.filter(isOver)) {
    const reason = `Its time was over at ${new Date(expiresAt as number).toISOString()}.`
    remove(key, { reasonCode: 'expired', reason, displacedBy: null, policy: null, explain: judge(meta as Meta) })
  }
  const expired = steps.length

  function isOver({ expiresAt, meta }: Held): boolean {
    return meta !== undefined && expiresAt !== null && expiresAt <= now
  }

  function judge(meta: Meta): Explanation {
    return explain(meta, at, config)
  }

  function remove(key: string, why: Why): void {
    slots = slots.filter((slot) => slot.key !== key)
    steps.push({ op: 'remove', key, why })
  }

  function requireMatch(ifMatch: IfMatch, old: Held | undefined): void {
    if (ifMatch === null || (ifMatch === -1 && old) || (ifMatch === 0 && !old)) return
    if (old && !old.meta) throw slotDamaged(old.key)
    if (old?.step !== undefined) throw new PlannedConflict(old.step)
    if (old && old.version === ifMatch) return
    throw versionConflict(old?.version ?? null)
  }

  function put(
    key: string,
    body: SlotWrite,
    old: Held | undefined,
    { source, keepsExpiry }: { source: Source; keepsExpiry: boolean },
  ): Applied {
    const ttlMs = body.ttlMs === undefined ? config.slotTtlMs : body.ttlMs
    const expiresAt = keepsExpiry && old ? old.expiresAt : ttlMs === null ? null : now + ttlMs
    const meta: Meta = {
      id: old?.meta?.id ?? newId('slt', now),
      pinned: body.pinned ?? false,
      isPut: true,
      sizeBytes: sizeOf(body),
      createdAt: old?.meta?.createdAt ?? now,
      accessCount: old?.meta?.accessCount ?? 0,
      lastAccessedAt: old?.meta?.lastAccessedAt ?? null,
      surface: Math.round(surfaceOf(body.value) * 1e6) / 1e6,
      hint: hintFrom(body.salience, source),
      seen: present(old?.meta?.seen, now),
      touchedCycle: cycle,
      admittedCycle: cycle,
      record: null,
    }
    const evicted = makeRoom(key, meta, old)
    for (const { key: loser, ...why } of evicted) remove(loser, why)
    const fields = { key, body, meta, ttlMs, expiresAt, updatedAt: now, source, explain: judge(meta) }
    const step =
      steps.push({ op: 'put', key, rest: restOf(fields), meta, expiresAt, content: contentOf(body.value) }) - 1
    const order = PLANNED + step
    const held: Held = { key, expiresAt, meta, version: undefined, step, order, body: () => ({ ...body, ttlMs }) }
    slots = old ? slots.map((slot) => (slot.key === key ? held : slot)) : [...slots, held]
    return { step, evicted: evicted.map(({ policy: _, ...rest }) => rest) }
  }

  /** The slots that leave so that this one has room; throws when none can. */
  function makeRoom(key: string, incoming: Meta, old: Held | undefined): ({ key: string } & Why)[] {
    const { capacity, policy, pinnedMax } = config
    if (capacity === 0) throw full('The capacity of this working memory is 0.')
    const others = slots.flatMap((slot) => (slot.key !== key && slot.meta ? [{ ...slot, meta: slot.meta }] : []))
    if (incoming.pinned && !old?.meta?.pinned && others.filter(({ meta }) => meta.pinned).length >= pinnedMax)
      throw full(`${pinnedMax} slots are pinned, the most that the configuration allows. Unpin or delete one first.`)
    let over = old?.meta ? 0 : others.length + 1 - capacity
    let bytes = others.reduce((sum, { meta }) => sum + meta.sizeBytes, incoming.sizeBytes) - SLOTS_BYTES_MAX
    if (over <= 0 && bytes <= 0) return []
    if (policy === 'reject') throw full(`All ${capacity} slots, or their ${SLOTS_BYTES_MAX} bytes, are in use.`)
    const losers: ({ key: string } & Why)[] = []
    const free = others.filter(({ meta }) => !meta.pinned)
    const judged = free.map((slot) => ({ ...slot, explain: judge(slot.meta) }))
    const broughtFirst = (one: Ranked, other: Ranked) => Number(isPut(one)) - Number(isPut(other))
    const lastFirst = LAST_FIRST[policy]
    for (const { key: loser, meta, explain: why } of judged.sort((a, b) => broughtFirst(a, b) || lastFirst(a, b))) {
      if (over <= 0 && bytes <= 0) break
      const reason = `Displaced by '${key}': ${LAST[policy]} of ${free.length} slots that are not pinned.`
      losers.push({ key: loser, reasonCode: 'outcompeted', reason, displacedBy: key, policy, explain: why })
      over -= 1
      bytes -= meta.sizeBytes
    }
    if (over > 0 || bytes > 0) throw full('The slots that would have to leave are pinned. Unpin or delete one first.')
    return losers
  }

  function apply(write: Write): Applied {
    const old = slots.find(({ key }) => key === write.key)
    requireMatch(write.ifMatch, old)
    if (write.op === 'put') return put(write.key, write.body, old, { source: write.source, keepsExpiry: false })
    if (write.op === 'patch') {
      if (!old) throw noSlot()
      if (!old.meta) throw slotDamaged(write.key)
      const body = patched(old.body(), write.patch)
      return put(write.key, body, old, { source: write.source, keepsExpiry: !('ttlMs' in write.patch) })
    }
    if (!old) return { step: null, evicted: [] }
    const reason = 'It was deleted on request.'
    const weighed = old.meta ? judge(old.meta) : { score: 0, parts: [] }
    remove(write.key, { reasonCode: 'deleted', reason, displacedBy: null, policy: null, explain: weighed })
    return { step: steps.length - 1, evicted: [] }
  }

  return {
    steps,
    hasWrites: () => steps.length > expired,
    apply,
    applyAll(writes) {
      const [slotsBefore, stepsBefore] = [slots, steps.length]
      try {
        return writes.map(apply)
      } catch (error) {
        slots = slotsBefore
        steps.length = stepsBefore
        // Of its own: what was taken back gets no version.
        throw error instanceof PlannedConflict && error.step >= stepsBefore ? versionConflict(null) : error
      }
    },
    clear(includePinned) {
      const whole = slots.flatMap((slot) => (slot.meta ? [{ ...slot, meta: slot.meta }] : []))
      const leaving = whole.filter(({ meta }) => includePinned || !meta.pinned)
      for (const { key, meta } of leaving)
        remove(key, {
          reasonCode: 'cleared',
          reason: 'The working memory was cleared.',
          ...{ displacedBy: null, policy: null, explain: judge(meta) },
        })
      return {
        cleared: leaving.map(({ key, version }) => ({ key, version: version as number })),
        retained: whole.filter((slot) => !leaving.includes(slot)).map(({ key }) => key),
      }
    },
    isThere: (key) => slots.some((slot) => slot.key === key),
    after: (versions) =>
      slots.map(({ key, version, step, expiresAt, meta }) => ({
        ...{ key, expiresAt, meta, text: null },
        version: (step === undefined ? version : versions[step]) as number,
      })),
  }
}

type Ranked = Held & { explain: Explanation }

/** Whether somebody wrote it. What cycles brought leaves first. */
function isPut({ meta }: Held): boolean {
  return meta?.isPut ?? meta?.record === null
}

/** Equal activation: the older one goes. */
const LAST_FIRST: Record<Exclude<Policy, 'reject'>, (one: Ranked, other: Ranked) => number> = {
  activation: (one, other) => one.explain.score - other.explain.score || one.order - other.order,
  lru: (one, other) => one.order - other.order,
  // The slots are in the order in which they were made, and sorting is stable.
  fifo: () => 0,
}

const LAST: Record<Exclude<Policy, 'reject'>, string> = {
  activation: 'the lowest activation',
  lru: 'the least recently written',
  fifo: 'the oldest',
}

function full(why: string): ApiError {
  return new ApiError('WORKING_MEMORY_FULL', `There is no room for the slot. ${why}`)
}

export function noSlot(): ApiError {
  return new ApiError('NOT_FOUND', 'There is no such slot.')
}

/** `current` null: there is none. */
export function versionConflict(current: number | null): ApiError {
  const state = current === null ? 'does not exist' : `has version ${current}`
  return new ApiError(
    'VERSION_CONFLICT',
    `The slot ${state}, and not what the condition asks for. Nothing was written.`,
    {
      details: { currentVersion: current },
    },
  )
}

/** The slot was written by a request of the same commit: its version is known after that. */
export class PlannedConflict extends Error {
  readonly step: number
  constructor(step: number) {
    super('the slot was written in the same commit')
    this.step = step
  }
}

export function slotDamaged(key: string | null, cause?: unknown): ApiError {
  const message =
    'The slot is damaged and is not shown. Write it again or delete it, without a version in If-Match; GET /v1/kv/consistency says more.'
  return new ApiError('DATA_DAMAGED', message, { details: { ref: key }, ...(cause === undefined ? {} : { cause }) })
}
