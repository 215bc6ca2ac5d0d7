// Commits of cycles that are wrong: edits of the daemon's source, and of the functions of the server that do them.

import type { Edit } from '../world/mutant.ts'

/** What a commit could leave out, in place, for the functions are the server's. No crash is needed to show it. */
export const TORN: { name: string; of: 'cycle_commit' | 'cycle_append'; from: RegExp | string; to: string }[] = [
  {
    name: 'a commit without the decisions of every third cycle',
    of: 'cycle_commit',
    from: /(insert into loci\.cycle_decisions [^;]*);/,
    to: '$1 where c.seq % 3 > 0;',
  },
  {
    name: 'statistics that count no durations',
    of: 'cycle_append',
    from: 'cyc_ms = h.cyc_ms + made.duration_ms',
    to: 'cyc_ms = h.cyc_ms',
  },
  {
    name: 'a commit without the event of every third cycle',
    of: 'cycle_append',
    from: /(events := events \|\| jsonb_build_object\('type', 'cycle\.completed'[^;]*;)/,
    to: 'if made.seq % 3 > 0 then $1 end if;',
  },
]

/** Long enough that each writer is in there almost always. */
const LATE_MS = 1_000

export const LIAR: Edit[] = [
  {
    file: 'daemon/cycles/run.ts',
    from: `      if (committed.outcome === 'done') return`,
    to: `      if (committed.outcome === 'done' && committed.made.seq % 3 === 0)
        throw new ApiError('STORE_UNAVAILABLE', 'Not now.')
      if (committed.outcome === 'done') return`,
  },
]

/** Its commit, as it is told, and then the rest of it: `later`, with the client. */
function lateEdits(before: string, later: string): Edit[] {
  return [
    {
      file: 'daemon/cycles/store.ts',
      from: 'const { rows } = await execute<CycleRow &',
      to: 'const { rows } = await late<CycleRow &',
    },
    {
      file: 'daemon/cycles/store.ts',
      from: '/** Nothing was done yet: those whose claim',
      to: `async function late<Row extends object>(pool: Pool, statement: any): Promise<{ rows: Row[] }> {
  const client = await pool.client()
  const pause = () => new Promise((resolve) => setTimeout(resolve, ${LATE_MS}))
  try {
    await client.query({ text: '${before}' })
    const result = await client.query<Row>(statement)
    ${later}
    return result
  } catch (error) {
    client.release(error as Error)
    throw error
  }
}

/** Nothing was done yet: those whose claim`,
    },
  ]
}

export const EARLY = lateEdits(
  'begin',
  `void pause().then(() => client.query({ text: 'commit' })).then(() => client.release(), (error) => client.release(error))`,
)
/** What tornInTwo() makes: the cycles stand apart until they are moved. */
export const SPLIT = lateEdits(
  'select 1',
  `await pause()\n    await client.query({ text: 'select public.move_late()' })\n    client.release()`,
)
