// Tells in time what ends or grows old while everything works: our certificates and sealing keys.

import { X509Certificate } from 'node:crypto'
import type { Job } from './jobs.ts'
import type { Metrics } from './metrics.ts'

interface AgesOptions {
  metrics: Metrics
  settings: { tlsCert: string | undefined; databaseCa: string | undefined }
  /** Since when the key that seals is known, in seconds; undefined where none is noted yet. */
  readKeyAgeS(): Promise<number | undefined>
}

const EVERY_MS = 10_000

export function ageJobs({ metrics, settings: { tlsCert, databaseCa }, readKeyAgeS }: AgesOptions): Job[] {
  gaugeCertificate(metrics, 'loci_certificate_remaining_seconds', 'Until a certificate of our listener ends.', tlsCert)
  gaugeCertificate(
    metrics,
    'loci_database_ca_remaining_seconds',
    'Until the authority ends whose certificate PostgreSQL has (LOCI_DATABASE_CA).',
    databaseCa,
  )
  let known: { ageS: number; at: number } | undefined
  metrics.gauge(
    'loci_sealing_key_age_seconds',
    'Since when the key that seals (the first of LOCI_SEALING_KEYS) is in use.',
    () => (known ? known.ageS + (performance.now() - known.at) / 1_000 : 0),
  )
  const run = async () => {
    const ageS = await readKeyAgeS()
    known = ageS === undefined ? undefined : { ageS, at: performance.now() }
  }
  return [{ name: 'ages', everyMs: EVERY_MS, failure: 'the age of the sealing key was not read; retrying', run }]
}

/** Where there is none, there is no metric: an alert must not fire on what a proxy does. */
function gaugeCertificate(metrics: Metrics, name: string, help: string, pem: string | undefined): void {
  if (pem === undefined) return
  const endsAt = earliestEnd(pem)
  metrics.gauge(name, help, () => (endsAt - Date.now()) / 1_000)
}

/** A chain ends when the first of its certificates does. */
function earliestEnd(pem: string): number {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? []
  return Math.min(...blocks.map((block) => Date.parse(new X509Certificate(block).validTo)))
}
