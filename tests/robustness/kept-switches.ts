import { setTimeout as wait } from 'node:timers/promises'
import type { LociProcess } from '../world/process.ts'
import type { World } from '../world/world.ts'

/**
 * The fuzz may administer the cell, so a request of it that happens to name a sub-service switches that off, and the
 * rest of the run would be a test of one 503. What is off is switched on again all the time.
 */
export function keepSwitchesOn(world: World) {
  const { url } = world.daemons[0] as LociProcess
  const headers = { 'x-loci-admin-token': world.adminToken, 'content-type': 'application/json' }
  const post = (path: string, services: string[]) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify({ services, reason: 'fuzz' }) })
  const off = async () => {
    const answer = await fetch(`${url}/admin/services/status`, { headers })
    const { services } = (await answer.json()) as { services: { name: string; enabled: boolean }[] }
    return services.filter(({ enabled }) => !enabled).map(({ name }) => name)
  }
  const ended = new AbortController()
  const keeping = (async () => {
    while (!ended.signal.aborted) {
      // A daemon under fuzz may be too busy for this once: the next turn asks again.
      await off()
        .then((names) => (names.length > 0 ? post('/admin/services/enable', names) : undefined))
        .catch(() => {})
      await wait(200)
    }
  })()
  return {
    switchOff: async (name: string) => {
      const answer = await post('/admin/services/disable', [name])
      if (answer.status !== 200) throw new Error(`${name} was not switched off: ${answer.status}`)
    },
    /** Ends when the keeper has switched everything on; a keeper that does not is found by the limit of the stage. */
    untilOn: async () => {
      while ((await off().catch(() => ['unknown'])).length > 0) await wait(50)
    },
    stop: async () => {
      ended.abort()
      await keeping
    },
  }
}
