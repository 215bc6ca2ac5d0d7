// What is in mind now.

import type { Client } from '@loci/sdk/client.ts'
import type { DaemonOperations } from '@loci/sdk/daemon.ts'
import { queryOptions } from '@tanstack/react-query'
import { unlessLive } from '../live/live.ts'
import { wordsKey } from './cache.ts'

interface Minded {
  at: { id: string; database: string }
  daemon: Client<DaemonOperations>
}

export function slotsQuery({ at, daemon }: Minded, { isEnabled = true, everyMs = 10_000 } = {}) {
  return queryOptions({
    queryKey: wordsKey(at, 'slots'),
    enabled: isEnabled,
    refetchInterval: unlessLive('service', everyMs),
    queryFn: async ({ signal }) => (await daemon.call('GET /v1/working-memory/slots', { signal })).body,
  })
}
