// A backup of the control database, put back under running processes, and the epoch by which its cell knows.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runSql } from '../world/sql.ts'
import type { World } from '../world/world.ts'
import { sleep } from './token-use.ts'

export async function dumpControl({ postgres }: World, directory: string): Promise<string> {
  const file = join(directory, 'control.dump')
  await promisify(execFile)(join(postgres.binDirectory, 'pg_dump'), [
    '-Fc',
    '-f',
    file,
    postgres.adminUrl('loci_control'),
  ])
  return file
}

export async function restoreControl({ postgres }: World, file: string): Promise<void> {
  await runSql(postgres.adminUrl(), 'drop database loci_control with (force)')
  await promisify(execFile)(join(postgres.binDirectory, 'pg_restore'), [
    '--create',
    '--exit-on-error',
    '-d',
    postgres.adminUrl(),
    file,
  ])
}

export async function epochOf(world: World): Promise<string> {
  const [row] = await runSql<{ epoch: string }>(
    world.postgres.adminUrl('loci_cell'),
    'select feed_epoch as epoch from loci.cell',
  )
  return row?.epoch as string
}

export async function untilEpoch(world: World, other: string): Promise<string> {
  const until = performance.now() + 180_000
  for (;;) {
    const epoch = await epochOf(world)
    if (epoch !== other) return epoch
    if (performance.now() > until) throw new Error(`the cell is still at the epoch ${other}`)
    await sleep(200)
  }
}
