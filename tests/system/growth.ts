// Listing cycles with their total, and the statistics, cost with 10^5 kept of 10^6 cycles in one database, in a cell
// with many more rows, what they cost with 10^3: two cells, one small and one large, are asked in turns, so that a busy
// machine slows both. `--rows=N`: so many rows of others in the large cell, ten million unless told otherwise, which
// take 3 GB of disk.

import { cyclesOf } from '@loci/daemon/testing/cycles.ts'
import type { TestTenant } from '@loci/daemon/testing/tenant.ts'
import { fillCell, fillCycles } from '../robustness/many-cycles.ts'
import { type RotCell, startRotCell } from '../robustness/rot-cell.ts'
import { reportOf } from '../robustness/rot-survey.ts'
import { plantMutant } from '../world/mutant.ts'
import { type Report, reportOn } from '../world/report.ts'

const isShort = process.argv.includes('--short')
const FEW = 1_000
const MANY = isShort ? { kept: 10_000, ever: 100_000 } : { kept: 100_000, ever: 1_000_000 }
const asked = process.argv.find((given) => given.startsWith('--rows='))?.slice('--rows='.length)
const ROWS = Number(asked ?? (isShort ? 100_000 : 10_000_000))
const RATIO_MAX = 1.3
const PAIRS = isShort ? 100 : 300
const PAIRS_MIN = 25
const WARM_UP = 10
/** A machine that refuses most of them is too busy to say anything. */
const TRIES_MAX = 5 * PAIRS
/** A kind above its bound is asked again, and all of it counts. */
const ROUNDS_MAX = 5
const DB = 'cycles'

interface Grown {
  cell: RotCell
  tenant: TestTenant
  /** In the middle of what is kept. */
  middle: string
}

const KINDS: { name: string; path(grown: Grown): string }[] = [
  { name: 'the list with its total', path: () => '/v1/cognitive/cycles' },
  { name: 'the list from the middle on', path: ({ middle }) => `/v1/cognitive/cycles?until=${middle}` },
  { name: 'the statistics', path: () => '/v1/cognitive/stats' },
]

await reportOn(async (report) => {
  const small = await grow({ kept: FEW, ever: FEW }, 0)
  const startedAt = performance.now()
  const large = await grow(MANY, ROWS)
  report.note(
    `${MANY.kept} cycles and ${ROWS} rows of others loaded in ${Math.round((performance.now() - startedAt) / 1_000)} s`,
  )
  try {
    const { status, issues } = await reportOf(
      large.tenant,
      large.tenant.mint({ ops: ['system:read'], ks: ['cognitive/*'] }),
    )
    const { list, stats } = await totals(large)
    for (const issue of issues.slice(0, 3)) report.note(JSON.stringify(issue))
    report.promise(
      'what was loaded is what cycles leave: the whole chain verifies, and list and statistics agree',
      status === 'consistent' && list === MANY.ever && stats === MANY.ever,
      `report ${status}, total ${list}, statistics ${stats}`,
    )
    await compare(report, small, large)
  } finally {
    await large.cell.close()
  }
  await mutant(report, small)
  await small.cell.close()
})

async function grow(
  cycles: { kept: number; ever: number },
  rows: number,
  options: Partial<Parameters<typeof startRotCell>[0]> = {},
): Promise<Grown> {
  const cell = await startRotCell({ dataChecksums: true, rowsPerDatabase: 1, ...options })
  const tenant = await cell.join({ requests_per_second: 1_000_000, burst: 1_000_000 })
  await fillCycles(cell, tenant, DB, cycles)
  await fillCell(cell, rows)
  const [row] = await cell.sql<{ at: Date }>(
    'select started_at as at from loci.cycles where instance_id = $1 and database = $2 and seq = $3',
    [tenant.instanceId, DB, cycles.ever - Math.floor(cycles.kept / 2)],
  )
  return { cell, tenant, middle: row?.at.toISOString() ?? '' }
}

async function totals({ tenant }: Grown): Promise<{ list: number; stats: number }> {
  const { get } = cyclesOf(tenant, DB)
  const { total } = await get<{ total: number }>('/v1/cognitive/cycles?limit=1')
  const { totalCycles } = await get<{ totalCycles: number }>('/v1/cognitive/stats')
  return { list: total, stats: totalCycles }
}

async function compare(report: Report, small: Grown, large: Grown): Promise<void> {
  for (const kind of KINDS) {
    const { isKept, figure } = await ratioOf(kind, small, large, ROUNDS_MAX)
    report.promise(`${kind.name} costs with ${MANY.ever} cycles what it costs with ${FEW}`, isKept, figure)
  }
}

async function ratioOf({ path }: (typeof KINDS)[number], small: Grown, large: Grown, roundsMax: number) {
  const times: [number[], number[]] = [[], []]
  const clients = [small, large].map((grown) => ({ ...cyclesOf(grown.tenant, DB), path: path(grown) }))
  let ratio = 0
  let [few, many] = [0, 0]
  for (let round = 0; round < roundsMax; round += 1) {
    for (let tries = 0, pairs = -WARM_UP; pairs < PAIRS && tries < TRIES_MAX; tries += 1) {
      const pair: number[] = []
      for (const { call, path: asked } of clients) {
        const startedAt = performance.now()
        const { status } = await call(`GET ${asked}`)
        // One that a busy machine refused says nothing about the cost.
        if (status === 200) pair.push(performance.now() - startedAt)
      }
      const [one, other] = pair
      if (one === undefined || other === undefined) continue
      pairs += 1
      if (pairs <= 0) continue
      times[0].push(one)
      times[1].push(other)
    }
    ;[few, many] = [median(times[0]), median(times[1])]
    ratio = many / few
    if (ratio <= RATIO_MAX) break
  }
  return {
    isKept: ratio <= RATIO_MAX && times[0].length >= PAIRS_MIN,
    figure: `${ratio.toFixed(2)} × (at most ${RATIO_MAX}): medians ${few.toFixed(2)} and ${many.toFixed(2)} ms of ${times[0].length} each, in turns`,
  }
}

async function mutant(report: Report, small: Grown): Promise<void> {
  await using copy = await plantMutant([
    {
      file: 'daemon/cycles/reads/functions.sql',
      from: `  select d.at, coalesce(d.first_at, d.at) into due_at`,
      to: `  total := coalesce(pruned_through, 0) + (select count(*) from loci.cycles c where c.instance_id = p_instance and c.database = p_database);
  select d.at, coalesce(d.first_at, d.at) into due_at`,
    },
  ])
  const large = await grow(MANY, 0, { root: copy.root, start: copy.startProgram })
  const [kind] = KINDS.slice(-1) as [(typeof KINDS)[number]]
  const { isKept, figure } = await ratioOf(kind, small, large, 1)
  await large.cell.close()
  report.mutant('a total that counts rows', isKept ? undefined : figure)
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number
}
