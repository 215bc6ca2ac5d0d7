// Plants migrations that a release must not have, because the release before it still runs, in the database of a world.

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { carryDigest, type Mutant, plantMutant } from '../world/mutant.ts'
import { prepareDatabase, type World } from '../world/world.ts'

const PREFIX = 'daemon/migrations'

/** A copy of the programs whose cells have further migrations, each with its number and text. */
export async function withMigrations(texts: string[], newest: number): Promise<Mutant> {
  const mutant = await plantMutant([])
  const file = (index: number) =>
    join(mutant.root, PREFIX, `${String(newest + 1 + index).padStart(4, '0')}-planted.sql`)
  const write = (digest: string) => {
    for (const [index, text] of texts.entries()) writeFileSync(file(index), `${text}\n${digest}\n`)
  }
  write('-- functions: 0')
  carryDigest(mutant.root, 'daemon')
  // All of them, so that one has the same text whether it is the newest or not.
  const [digest = ''] = /^-- functions: .*$/m.exec(readFileSync(file(texts.length - 1), 'utf8')) ?? []
  write(digest)
  return mutant
}

/** Returns what migrate of `mutant` said where it refused; undefined where it did not. */
export async function migrateCell(world: World, mutant: Mutant): Promise<string | undefined> {
  return prepareDatabase(world.postgres, 'daemon', mutant).then(
    () => undefined,
    (error: Error) => error.message,
  )
}
