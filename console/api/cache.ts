// The cache of answers, and how its keys are made. What changed is told by events (live/), which name a service, a
// database and a kind of thing: so every key begins with those, and whatever holds words of agents and people says so.
// An erasure drops all of the latter, fresh or not.

import { QueryClient } from '@tanstack/react-query'
import { problemOf } from './problem.ts'

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      networkMode: 'always',
      staleTime: 15_000,
      gcTime: 300_000,
      retry: (failures, error) => failures < 2 && problemOf(error).kind === 'away',
      retryDelay: (attempt, error) => Math.max(problemOf(error).retryAfterMs ?? 0, 500 * 2 ** attempt),
      refetchInterval: (query) => againMs(query) ?? false,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

export interface Asked {
  state: { error: Error | null }
}

/** A limit goes on by itself when it is over, what is away is asked for again; undefined where asking mends nothing. */
export function againMs({ state: { error } }: Asked): number | undefined {
  if (!error) return undefined
  const { kind, retryAfterMs = 5_000 } = problemOf(error)
  return kind === 'rate' || kind === 'away' ? Math.max(1_000, retryAfterMs) : undefined
}

/** For the `refetchInterval` of a query that has one: nobody waits for minutes to see that a trouble is over. */
export function everyMs(ms: number): (query: Asked) => number {
  return (query) => againMs(query) ?? ms
}

interface At {
  id: string
  database: string
}

/** Of management, for an organization: `organizationKey(api, 'services')`. */
export function organizationKey({ organization }: { organization: { id: string } }, what: string, ...of: unknown[]) {
  return ['organization', organization.id, what, ...of] as const
}

/** Numbers and states of a service: `factsKey(at, 'stats')`. */
export function factsKey({ id, database }: At, what: string, ...of: unknown[]) {
  return ['service', id, 'facts', database, what, ...of] as const
}

/** What holds words of agents and people: `wordsKey(at, 'slots')`. */
export function wordsKey({ id, database }: At, what: string, ...of: unknown[]) {
  return ['service', id, 'words', database, what, ...of] as const
}

/** After an erasure no byte of it may be in this page: nothing of the service that holds words is kept. */
export function dropWords(serviceId: string): void {
  dropUnseenWords(serviceId)
  void queries.resetQueries({ queryKey: ['service', serviceId, 'words'] })
}

/** Where nobody tells of an erasure nothing is kept that nobody looks at. */
export function dropUnseenWords(serviceId: string): void {
  queries.removeQueries({ queryKey: ['service', serviceId, 'words'], type: 'inactive' })
}
