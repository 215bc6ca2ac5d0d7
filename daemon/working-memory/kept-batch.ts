// What loci.wm_commit_acts() keeps of a batch for its repeats: versions and digests, which the commit gives, and what
// the plan knew before it. No key and no value: a repeat has the same body (its fingerprint says so).

import type { Applied, Evicted, Plan, Write } from './document.ts'

/** Of one write of the batch. */
interface KeptWrite {
  /** Its place among the versions and digests; null when there was nothing to delete. */
  step: number | null
  expiresAt: number | null
  evicted: Evicted[]
}

export interface KeptBatch {
  versions: number[]
  /** As Postgres writes bytes, `\\x…`; null: of a slot that left. */
  digests: (string | null)[]
  writes: KeptWrite[]
}

/** The part that is known before the commit. `from`: the first step of the batch. */
export function keptWrites(applied: Applied[], steps: Plan['steps'], from: number): KeptWrite[] {
  return applied.map(({ step, evicted }) => {
    const done = step === null ? undefined : steps[step]
    return { step: step === null ? null : step - from, expiresAt: done?.op === 'put' ? done.expiresAt : null, evicted }
  })
}

interface Written {
  /** Undefined when there was nothing to delete. */
  version: number | undefined
  digest: Buffer | undefined
  expiresAt: number | null
  evicted: Evicted[]
}

export function writtenOfKept({ versions, digests, writes }: KeptBatch): Written[] {
  return writes.map(({ step, expiresAt, evicted }) => {
    if (step === null) return { version: undefined, digest: undefined, expiresAt, evicted }
    return { version: versions[step], digest: Buffer.from(digests[step]?.slice(2) ?? '', 'hex'), expiresAt, evicted }
  })
}

/** The answer to the first request and to its repeats. */
export function batchAnswer(asked: Write[], written: Written[]): object {
  const results = written.map(({ version, digest, expiresAt, evicted }, at) => {
    const { op, key } = asked[at] as Write
    if (op === 'delete') return { op, key, version: version ?? 0, deleted: version !== undefined }
    const expires = expiresAt === null ? null : new Date(expiresAt).toISOString()
    return { op, key, version, expiresAt: expires, digest: digest?.toString('base64'), evicted }
  })
  return { results }
}
