// The keys that sign capabilities.

import { transaction } from '@loci/postgres/transaction.ts'
import { keepKeys, rotateKeys } from '../keys/keys.ts'
import { listKeyRows, type SigningKeyRow } from '../keys/store.ts'
import type { Context, Group } from './verb.ts'

export const KEYS: Group = {
  summary: 'signing keys: keys rotate, keys list',
  verbs: { rotate: { run: keysRotate }, list: { run: keysList } },
}

async function keysRotate({ pool, issuer, actor }: Context): Promise<object> {
  // What is due first: a rotation that waits only for somebody to look must not refuse the next one.
  const isFirst = (await listKeyRows(pool)).length === 0
  if (!isFirst) await keepKeys(pool, issuer.sealer)
  return keyJson(await transaction(pool, (sql) => rotateKeys(sql, issuer.sealer, actor)))
}

async function keysList({ pool }: Context): Promise<object> {
  return { keys: (await listKeyRows(pool)).map(keyJson) }
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
