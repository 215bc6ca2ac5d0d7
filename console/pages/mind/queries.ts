// What the page of the mind reads: a day in parts. What is looked at comes first, then what is next to it, until all of
// the day is there. A part that is over does not change, but for an erasure, which drops it (api/cache.ts); the last
// part goes on, and is asked for again when something happened (live/touched.ts).

import type { DaemonOperations } from '@loci/sdk/daemon.ts'
import { queryOptions, useQueries, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { useApi } from '../../api/api.ts'
import { factsKey, queries, wordsKey } from '../../api/cache.ts'
import type { ServiceInView } from '../../frame/service.tsx'
import { unlessLive } from '../../live/live.ts'
import { overlaps, type Part, partsOf, type Span } from './scale.ts'
import { type Answer, type Mind, mindOf } from './timeline.ts'

/** As many cycles as one answer holds. */
const PAGE = 500
/** What goes on is asked for whole each time, so it is closed when it has more cycles than this. */
const OPEN_CYCLES_MAX = 40
/** Of which the newest are read again with what comes: two cycles may be on their way at once. */
const CLOSED_BEHIND = 10
/** The clock of this machine may be ahead of the one that cycles live by. */
const CLOCKS_MS = 300_000
const POLL_MS = 10_000
const FOCUS_TTL_MS = 1_800_000

type TimelineQuery = NonNullable<DaemonOperations['GET /v1/cognitive/timeline']['given']['query']>

interface Read {
  answers: Answer[]
}

function partQuery({ at, daemon }: ServiceInView, { from, to }: Part, hasWords: boolean) {
  return queryOptions({
    // The one that goes on is told by events under this name; the others are dropped by what drops all words.
    queryKey: to === null ? wordsKey(at, 'timeline', from) : wordsKey(at, 'timeline of then', from, to),
    staleTime: to === null ? 15_000 : Number.POSITIVE_INFINITY,
    ...(to === null ? { refetchInterval: unlessLive('service', POLL_MS) } : {}),
    structuralSharing: false,
    queryFn: async ({ signal }): Promise<Read> => {
      const answers: Answer[] = []
      let until = to
      let cursor: string | undefined
      do {
        const query: TimelineQuery = {
          since: new Date(from).toISOString(),
          ...(to === null ? {} : { until: new Date(to).toISOString() }),
          ...(cursor === undefined ? {} : { cursor }),
          ...{ content: hasWords ? 'true' : 'false', limit: PAGE },
        }
        const { body: timeline } = await daemon.call('GET /v1/cognitive/timeline', {
          query,
          signal,
        })
        answers.push({ timeline, until })
        const oldest = timeline.cycles.at(-1)
        until = oldest ? Date.parse(oldest.at) : until
        cursor = timeline.nextCursor ?? undefined
      } while (cursor !== undefined)
      return { answers }
    },
  })
}

export interface TimelineRead {
  /** Undefined until all of the window is there. */
  mind: Mind | undefined
  /** From where on, and until when, it is there. */
  read: Span | undefined
  error: Error | null
  /** Of the parts that were never read. */
  errorUpdateCount: number
  readAt: number
  refetch(): void
}

/** `day`: what is read in the end; `first`: what somebody waits for. `isOpen`: the day goes on. */
export function useTimeline(view: ServiceInView, day: Span, first: Span, isOpen: boolean): TimelineRead {
  const hasWords = useApi().organization.ops.includes('wm:read')
  const [opened, setOpened] = useState<readonly number[]>(() => [day.to - CLOCKS_MS])
  const parts = useMemo(() => partsOf(day, isOpen ? opened : []), [day, isOpen, opened])
  const [wanted, setWanted] = useState(0)
  const asked = useMemo(() => reachOf(parts, first, wanted), [parts, first, wanted])
  const results = useQueries({
    queries: parts.map((part, at) => ({ ...partQuery(view, part, hasWords), enabled: asked[at] === true })),
  })
  const stamp = results.map(({ dataUpdatedAt }) => dataUpdatedAt).join()
  const isThere = parts.every((part, at) => !overlaps(part, first) || results[at]?.data !== undefined)
  const areAsked = results.every(({ data }, at) => !asked[at] || data !== undefined)
  const isAll = asked.every(Boolean)
  useEffect(() => {
    if (areAsked && !isAll) setWanted((now) => now + 1)
  }, [areAsked, isAll])
  // biome-ignore lint/correctness/useExhaustiveDependencies: when an answer came says whether it is another one
  const known = useMemo(() => {
    const there = results.flatMap(({ data }, at) => (data ? [{ part: parts[at] as Part, data }] : []))
    if (!isThere || there.length === 0) return undefined
    const mind = mindOf(
      there.flatMap(({ data }) => data.answers),
      { hasWords },
    )
    const read = { from: there.at(-1)?.part.from ?? day.from, to: there[0]?.part.to ?? Number.POSITIVE_INFINITY }
    return { mind, read }
  }, [stamp, isThere, parts, hasWords])
  useClosing(view, parts, results[0]?.data, isOpen, setOpened)
  const failed = results.find(({ error }) => error !== null)
  return {
    ...{ mind: known?.mind, read: known?.read, error: failed?.error ?? null },
    errorUpdateCount: results.reduce((all, one) => all + (one.data === undefined ? one.errorUpdateCount : 0), 0),
    readAt: failed?.dataUpdatedAt || Math.max(0, ...results.map(({ dataUpdatedAt }) => dataUpdatedAt)),
    refetch: () => void Promise.all(results.filter(({ error }) => error).map((one) => one.refetch())),
  }
}

/** The parts of what somebody waits for, and so many beside them: without a gap, so that what is drawn never moves. */
function reachOf(parts: readonly Part[], first: Span, beside: number): boolean[] {
  const at = parts.flatMap((part, index) => (overlaps(part, first) ? [index] : []))
  const [from, to] = [at[0] ?? 0, at.at(-1) ?? 0]
  return parts.map((_, index) => index >= from - beside && index <= to + beside)
}

/** What goes on ends where it has become long, and what comes then is a part of its own. */
function useClosing(
  view: ServiceInView,
  parts: readonly Part[],
  data: Read | undefined,
  isOpen: boolean,
  setOpened: (change: (now: readonly number[]) => readonly number[]) => void,
): void {
  useEffect(() => {
    const [part] = parts
    const cycles = data?.answers.flatMap(({ timeline }) => timeline.cycles) ?? []
    const last = cycles[CLOSED_BEHIND]
    if (!isOpen || !part || !last || cycles.length <= OPEN_CYCLES_MAX) return
    const to = Date.parse(last.at) + 1
    const { queryKey } = partQuery(view, { from: part.from, to }, true)
    queries.setQueryData(queryKey, data)
    setOpened((now) => [...now, to])
  }, [view, parts, data, isOpen, setOpened])
}

/** How long a focus lasts without another one. */
export function useFocusTtl({ at, daemon }: ServiceInView): number {
  const settings = useQuery({
    queryKey: factsKey(at, 'slot-settings'),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/working-memory/settings', { signal })).body,
  })
  const { focusTtlMs } = settings.data?.config ?? {}
  return typeof focusTtlMs === 'number' ? focusTtlMs : FOCUS_TTL_MS
}
