// Capabilities that the client asks management for when it needs them. One is kept until shortly before its end, and
// given up when a daemon refuses it.

import type { Client } from './client.ts'
import { LociError } from './error.ts'
import type { ManagementOperations } from './management.ts'

export interface KeptCapability {
  token: string
  /** Milliseconds since 1970, by the clock of this machine. */
  endsAt: number
  renewAt: number
}

/** Where a program keeps capabilities beyond its own life, such as a command line that runs for a second. */
export interface CapabilityStore {
  load(serviceId: string): Promise<KeptCapability | undefined> | KeptCapability | undefined
  save(serviceId: string, kept: KeptCapability | undefined): Promise<void> | void
}

export interface Capabilities {
  of(service: { id: string; tenantId: string }): Promise<string>
  /** A daemon refused this one: the next is minted. */
  refused(serviceId: string, token: string): Promise<void>
}

/** What a capability is made for, where it is not for everything that users' data needs. */
export interface Purpose {
  ops?: string[] | undefined
  ttlSeconds?: number | undefined
}

const TTL_SECONDS = 3_600

export function mintedCapabilities(
  management: Client<ManagementOperations>,
  store?: CapabilityStore,
  purpose: Purpose = {},
): Capabilities {
  const kept = new Map<string, KeptCapability>()
  const minting = new Map<string, Promise<KeptCapability>>()

  async function mint(service: { id: string; tenantId: string }): Promise<KeptCapability> {
    const { body } = await mintOnce(management, service, purpose)
    const now = Date.now()
    const lifeMs = body.expires_in * 1_000
    const made = { token: body.token, endsAt: now + lifeMs, renewAt: now + lifeMs - Math.max(30_000, lifeMs / 10) }
    kept.set(service.id, made)
    await store?.save(service.id, made)
    return made
  }

  function mintAlone(service: { id: string; tenantId: string }): Promise<KeptCapability> {
    const running = minting.get(service.id)
    if (running) return running
    const begun = mint(service).finally(() => minting.delete(service.id))
    minting.set(service.id, begun)
    return begun
  }

  return {
    async of(service) {
      const held = kept.get(service.id) ?? (await store?.load(service.id))
      const now = Date.now()
      if (held && now < held.renewAt) {
        kept.set(service.id, held)
        return held.token
      }
      try {
        return (await mintAlone(service)).token
      } catch (error) {
        // Daemons serve while management does not: the old one is good for a little while.
        if (held && now < held.endsAt && error instanceof LociError && error.retryable) return held.token
        throw error
      }
    },
    async refused(serviceId, token) {
      if (kept.get(serviceId)?.token !== token) return
      kept.delete(serviceId)
      await store?.save(serviceId, undefined)
    },
  }
}

/** For all databases of the service: the holder of an API key is its back end. */
async function mintOnce(
  management: Client<ManagementOperations>,
  { id, tenantId }: { id: string; tenantId: string },
  { ops, ttlSeconds = TTL_SECONDS }: Purpose,
) {
  const ask = () =>
    management.call('POST /api/v1/tenants/{id}/tokens', {
      path: { id: tenantId },
      body: { service_id: id, databases: ['*'], ops, ttl_seconds: ttlSeconds, name: 'sdk' },
    })
  try {
    return await ask()
  } catch (error) {
    // It was made and its answer lost; no server keeps a credential to show it again.
    if (error instanceof LociError && error.code === 'IDEMPOTENCY_REPLAY_WITHHELD') return await ask()
    throw error
  }
}
