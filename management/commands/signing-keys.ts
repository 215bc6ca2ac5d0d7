// The keys that sign capabilities.

import { transaction } from '@loci/postgres/transaction.ts'
import { keepKeys, removeKey, rotateKeys } from '../tokens/keys/keys.ts'
import { listKeyRows, type SigningKeyRow } from '../tokens/keys/store.ts'
import type { Context, Given, Group } from './verb.ts'

export const KEYS: Group = {
  summary:
    'signing keys: keys rotate, keys list, keys remove --kid k_… (at once, for one that leaked: what it signed is refused)',
  verbs: { rotate: { run: keysRotate }, list: { run: keysList }, remove: { required: ['kid'], run: keysRemove } },
}

async function keysRotate({ pool, issuer, actor }: Context): Promise<object> {
  // What is due first: a rotation that only waits for its next step must not refuse another one.
  const isFirst = (await listKeyRows(pool)).length === 0
  if (!isFirst) await keepKeys(pool, issuer.sealer)
  return keyJson(await transaction(pool, (sql) => rotateKeys(sql, issuer.sealer, actor)))
}

async function keysList({ pool }: Context): Promise<object> {
  return { keys: (await listKeyRows(pool)).map(keyJson) }
}

async function keysRemove({ pool, issuer, actor }: Context, given: Given): Promise<object> {
  await keepKeys(pool, issuer.sealer)
  return keyJson(await transaction(pool, (sql) => removeKey(sql, given.kid as string, actor)))
}

function keyJson({ kid, x, state, createdAt, signedUntil, retireAt }: SigningKeyRow): object {
  return {
    kid,
    x,
    state,
    created_at: createdAt.toISOString(),
    signed_until: signedUntil.toISOString(),
    retire_at: retireAt?.toISOString() ?? null,
  }
}
