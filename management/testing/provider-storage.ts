// What an identity provider of a test remembers, for as long as it lives: its own store holds a thousand things and is
// shared by every provider of a process.

import type { Adapter, AdapterPayload } from 'oidc-provider'

export function createStorage(): (model: string) => Adapter {
  const kept = new Map<string, AdapterPayload>()
  return (model) => {
    const keyOf = (id: string) => `${model} ${id}`
    return {
      async upsert(id, payload) {
        kept.set(keyOf(id), payload)
      },
      find: async (id) => kept.get(keyOf(id)),
      findByUid: async (uid) => [...kept].find(([key, one]) => key.startsWith(`${model} `) && one.uid === uid)?.[1],
      findByUserCode: async () => undefined,
      async consume(id) {
        const found = kept.get(keyOf(id))
        if (found) found.consumed = Math.floor(Date.now() / 1_000)
      },
      async destroy(id) {
        kept.delete(keyOf(id))
      },
      async revokeByGrantId(grantId) {
        for (const [key, one] of kept) if (key.startsWith(`${model} `) && one.grantId === grantId) kept.delete(key)
      },
    }
  }
}
