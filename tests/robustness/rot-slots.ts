// Slots of many databases, one damage each behind the daemon's back, and what it says of them.

import { SLOT_RIGHTS, slotsOf } from '@loci/daemon/testing/slots.ts'
import type { TestTenant } from '@loci/daemon/testing/tenant.ts'
import type { RotCell } from './rot-cell.ts'
import { reportOf } from './rot-survey.ts'

const KEYS = ['one', 'two', 'three', 'four', 'five']
const AT = 'where instance_id = $1 and database = $2'

/** What is done, and which slots it may cost; all: the row itself. */
const EDITS: { sql: string; costs: string[] | 'all' | 'none' }[] = [
  {
    sql: `update loci.working_memory set texts[2] = overlay(texts[2] placing '7' from 250 for 1) ${AT}`,
    costs: ['two'],
  },
  { sql: `update loci.working_memory set texts[3] = texts[3] || ' ' ${AT}`, costs: ['three'] },
  { sql: `update loci.working_memory set texts[1] = null ${AT}`, costs: ['one'] },
  { sql: `update loci.working_memory set versions[4] = 9223372036854775807 ${AT}`, costs: ['four'] },
  { sql: `update loci.working_memory set versions[5] = versions[5] - 1 ${AT}`, costs: ['five'] },
  { sql: `update loci.working_memory set expires[2] = now() - interval '1 year' ${AT}`, costs: ['two'] },
  { sql: `update loci.working_memory set expires[2] = 'infinity' ${AT}`, costs: ['two'] },
  { sql: `update loci.working_memory set metas[3] = '{}' ${AT}`, costs: ['three'] },
  {
    sql: `update loci.working_memory set digests[1] = set_bit(digests[1], 5, 1 - get_bit(digests[1], 5)) ${AT}`,
    costs: ['one'],
  },
  { sql: `update loci.working_memory set digests[1] = '' ${AT}`, costs: ['one'] },
  { sql: `update loci.working_memory set keys[4] = 'other' ${AT}`, costs: ['four'] },
  { sql: `update loci.working_memory set texts[1] = texts[2], texts[2] = texts[1] ${AT}`, costs: ['one', 'two'] },
  {
    sql: `update loci.working_memory set texts[1] = texts[2], versions[1] = versions[2], metas[1] = metas[2], digests[1] = digests[2] ${AT}`,
    costs: ['one'],
  },
  { sql: `update loci.working_memory set evictions = evictions + 1 ${AT}`, costs: 'none' },
  { sql: `update loci.working_memory set soonest = now() - interval '1 day' ${AT}`, costs: 'none' },
  { sql: `update loci.working_memory set digest = '' ${AT}`, costs: 'none' },
  {
    sql: `update loci.working_memory set keys = keys[2:], texts = texts[2:], versions = versions[2:], expires = expires[2:],
      metas = metas[2:], digests = digests[2:] ${AT}`,
    costs: ['one'],
  },
  { sql: `delete from loci.working_memory ${AT}`, costs: 'all' },
  {
    sql: `update loci.working_memory set instance_id = (select min(id) from loci.instances where id <> $1) ${AT}`,
    costs: 'all',
  },
]

export interface SlotRot {
  edits: number
  found: number
  served: string[]
  hidden: string[]
  missed: string[]
}

export async function rotSlots(cell: RotCell, edits: number): Promise<SlotRot> {
  const rot: SlotRot = { edits, found: 0, served: [], hidden: [], missed: [] }
  const tenant = cell.tenants[0] as TestTenant
  for (let n = 0; n < edits; n += 1) {
    const slots = slotsOf(tenant, `slots-${n}`)
    for (const key of KEYS) await slots.put(key, { value: `value ${key} ${n}` })
    await cell.sql((EDITS[n % EDITS.length] as (typeof EDITS)[number]).sql, [tenant.instanceId, `slots-${n}`])
  }
  const { issues } = await reportOf(tenant, tenant.mint(SLOT_RIGHTS))
  for (let n = 0; n < edits; n += 1) {
    const { costs } = EDITS[n % EDITS.length] as (typeof EDITS)[number]
    const database = `slots-${n}`
    const isFound = issues.some((issue) => issue.database === database)
    if (isFound) rot.found += 1
    else rot.missed.push(`${database}: edit ${n % EDITS.length}`)
    const { slots: listed } = await slotsOf(tenant, database).list()
    for (const { key, value } of listed) {
      const isLost = costs === 'all' || (costs !== 'none' && costs.includes(key))
      if (value !== `value ${key} ${n}` || isLost) rot.served.push(`${database} ${key}: edit ${n % EDITS.length}`)
    }
    const healthy = costs === 'all' ? [] : KEYS.filter((key) => costs === 'none' || !costs.includes(key))
    for (const key of healthy)
      if (!listed.some((slot) => slot.key === key)) rot.hidden.push(`${database} ${key}: edit ${n % EDITS.length}`)
  }
  return rot
}
