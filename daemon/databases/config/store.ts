// All SQL of configurations: what was PUT for a database, over what its service was created with. The rules: rules.ts.

import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { enteringLocks } from '../locks.ts'
import { withDatabase } from '../store.ts'
import type { ConfigRules } from './rules.ts'

/** The domain that it configures. */
export type ConfigKind = 'working-memory' | 'cognitive'

/** The layers of a configuration as they are stored: JSON texts. */
export interface ConfigLayers {
  service: string | null
  sent: string | null
  /** False: what was sent is damaged, and what is in force is unknown. */
  configIntact: boolean
}

export interface StoredConfig extends ConfigLayers {
  version: number
}

export async function readConfig(
  pool: Pool,
  { instanceId, database, kind }: { instanceId: string; database: string; kind: ConfigKind },
): Promise<StoredConfig> {
  const found = await withDatabase(pool, { instanceId, database }, async (sql) => {
    const { rows } = await sql.query<StoredConfig>({
      name: 'config_read',
      text: `select service, sent, version, intact as "configIntact" from loci.config_layers($1, $2, $3)`,
      values: [instanceId, database, kind],
    })
    return rows[0]
  })
  return found ?? { service: null, sent: null, version: 0, configIntact: true }
}

/** In the caller's transaction. */
export async function writeConfig(
  sql: Sql,
  {
    instanceId,
    databasesMax,
    database,
    kind,
  }: { instanceId: string; databasesMax: number; database: string; kind: ConfigKind },
  { sent, ifMatch }: { sent: string; ifMatch: number | null },
): Promise<{ outcome: 'done' | 'conflict' | 'databases' | 'erasing' | 'gone'; version: number }> {
  const { rows } = await sql.query<{
    outcome: 'done' | 'conflict' | 'databases' | 'erasing' | 'gone'
    version: number
  }>({
    name: 'config_write',
    text: `select outcome, version from loci.config_write($1, $2, $3, $4, $5, $6)`,
    values: [instanceId, databasesMax, database, kind, sent, ifMatch],
    locks: () => enteringLocks(instanceId, [{ database }]),
  })
  return rows[0] as (typeof rows)[number]
}

export function layersOf({ service, sent }: Pick<ConfigLayers, 'service' | 'sent'>): unknown[] {
  return [service, sent].flatMap((text) => (text === null ? [] : [JSON.parse(text) as unknown]))
}

/** As the routes of settings answer it. */
export function settingsOf(rules: ConfigRules, stored: StoredConfig) {
  const layers = layersOf(stored)
  const { warnings, ...config } = rules.inForce(layers)
  return { config, version: stored.version, warnings, settings: rules.settings(layers) }
}
