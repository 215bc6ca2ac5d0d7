import { cachedFor } from '@loci/chassis/cached.ts'
import { open } from '@loci/chassis/probes.ts'
import { type Route, reply, route } from '@loci/chassis/route.ts'
import { capabilityKeys } from '@loci/contract/capability-keys.ts'
import type { Pool } from '@loci/postgres/pool.ts'
import { listKeyRows } from './store.ts'

/**
 * For the answer here and again at the client, together shorter than the time between publishing a key and signing with
 * it (see keys.ts), or a verifier meets a key it cannot know. Here, because the route is open: a thousand requests are
 * one read.
 */
const CACHE_S = 1

export function keyRoutes({ pool }: { pool: Pool }): Route[] {
  const list = cachedFor(CACHE_S * 1000, () => listKeyRows(pool))
  return [
    route(
      {
        method: 'GET',
        path: '/.well-known/loci-capability-keys.json',
        access: open,
        tag: 'keys',
        summary: 'Read the public keys that capabilities are signed with.',
        answers: { 200: capabilityKeys },
        errors: ['STORE_UNAVAILABLE'],
      },
      async () => {
        const rows = await list()
        const keys = rows
          .filter(({ state }) => state !== 'removed')
          .map(({ kid, x }) => ({ kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }))
        return reply(200, { keys }, { 'cache-control': `public, max-age=${CACHE_S}` })
      },
    ),
  ]
}
