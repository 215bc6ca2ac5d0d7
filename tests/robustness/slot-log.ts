// What a cell has committed in the slots of a database, with the eyes of the superuser.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import { runSql } from '../world/sql.ts'
import type { Step } from './slot-history.ts'

/** Every committed step of a database: the events name them all, the history has what was written. */
export async function readSlotLog(postgres: Throwaway, instanceId: string, database: string): Promise<Step[]> {
  const rows = await runSql<{ version: string; key: string; type: string; text: string | null }>(
    postgres.adminUrl('loci_cell'),
    `select e.data ->> 'version' as version, e.data ->> 'key' as key, e.type, v.text from loci.events e
      left join loci.slot_versions v on e.type = 'slot.written' and v.instance_id = e.instance_id and v.database = e.database
        and v.key = e.data ->> 'key' and v.version = (e.data ->> 'version')::bigint
      where e.instance_id = $1 and e.database = $2 and e.type like 'slot.%' order by (e.data ->> 'version')::bigint`,
    [instanceId, database],
  )
  return rows.map(({ version, key, type, text }) => ({
    ...{ version: Number(version), key, how: type.slice('slot.'.length) as Step['how'] },
    ...(text === null ? {} : { value: (JSON.parse(text) as { value: unknown }).value }),
  }))
}
