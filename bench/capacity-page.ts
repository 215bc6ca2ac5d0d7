// docs/operations/capacity.md: what a cell holds, of the figures that `npm run bench -- capacity` measured.

import { readFileSync, writeFileSync } from 'node:fs'
import type { CapacityFigures, Operation } from './capacity-figures.ts'

/** The day of one busy agent: an assumption, which the page names. */
const DAY: Record<string, number> = {
  'kv read': 200,
  'kv write': 50,
  'slots read': 200,
  'slot written': 100,
  'record stored': 50,
  recall: 100,
  'cycle without a focus': 50,
  'cycle with a focus': 50,
  'projection of an array': 200,
  'tools ranked': 100,
}
/** The busiest hour, of the mean. */
const PEAK = 4
/** The part of the processor that is planned with; the rest carries a fail-over or a restart, and surprises. */
const SHARE = 0.5
const CORES = [2, 8, 32]
/** Former slots, evictions and decisions leave after so many days; records stay. */
const HISTORY_DAYS = 30
const FLEETS = [1e3, 1e6, 1e8]
/** The share of all instances that are busy on a day. */
const ACTIVE = 0.1
const DISK_GB = 2_000

export const PAGE = new URL('../docs/operations/capacity.md', import.meta.url)
const FIGURES = new URL('capacity.json', import.meta.url)

export function readFigures(): CapacityFigures {
  return JSON.parse(readFileSync(FIGURES, 'utf8'))
}

/** The figures, and the page of them. */
export function keepFigures(figures: CapacityFigures): void {
  writeFileSync(FIGURES, `${JSON.stringify(figures, null, 2)}\n`)
  writeFileSync(PAGE, capacityPage(figures))
}

export function capacityPage(figures: CapacityFigures): string {
  const { machine, operations, connections, services, idle } = figures
  const secondsOfDay = operations.reduce((sum, one) => sum + (DAY[one.name] ?? 0) * usOf(one), 0) / 1e6
  const walOfDay = sumOf(operations, ({ walBytes }) => walBytes)
  const kept = operations.map((one) => ({ one, bytes: (DAY[one.name] ?? 0) * one.keptBytes * daysOf(one) }))
  const bytesOfYear = kept.reduce((sum, { bytes }) => sum + bytes, 0)
  const busyOf = (cores: number) => Math.floor((cores * SHARE * 86_400) / PEAK / secondsOfDay)
  const idleOf = (name: 'few' | 'many') => idle[name].daemonUs + idle[name].postgresUs
  const idleUs = Math.max(0, idleOf('many') - idleOf('few')) / idle.instances
  const perCell = (cores: number) => {
    const byProcessor = busyOf(cores) / ACTIVE
    const byDisk = (DISK_GB * 1e9) / (idle.cellBytes + services.cellBytes + ACTIVE * bytesOfYear)
    return Math.floor(Math.min(byProcessor, byDisk))
  }
  return `<!-- Written by npm run bench -- capacity --page, of bench/capacity.json; edit bench/capacity-page.ts. -->
# Capacity

What an operation costs, what a cell holds, and when to add one. Measured on ${figures.at} by \`npm run bench -- capacity\`
on ${machine.cores} cores (${machine.processor}) and ${machine.gib} GiB with Node ${machine.node.slice(1)} and PostgreSQL ${machine.postgres.split(' ')[0]}, where daemon, PostgreSQL, management and
the ${figures.clients} clients shared the cores. On your machine: run it with \`--write\`.
Everything under "Arithmetic" is computed from these figures and was not run.

## What an operation costs

Processor time and bytes of each, with the background work that it leaves behind (segments of the index, weights of
advice). ${figures.databases} databases; where records are searched, each has ${num(figures.records)}. *Kept* is what the PostgreSQL database of the cell grew by.

| operation | each second | p99 ms | daemon µs | PostgreSQL µs | WAL bytes | kept bytes |
|---|--:|--:|--:|--:|--:|--:|
${operations.map((one) => `| ${one.name} | ${num(one.perSecond)} | ${one.p99Ms} | ${num(one.daemonUs)} | ${num(one.postgresUs)} | ${num(one.walBytes)} | ${num(one.keptBytes)} |`).join('\n')}

A service that a customer makes (${services.made} made, until each is active): management ${ms(services.managementUs)}, daemon ${ms(services.daemonUs)}, both
PostgreSQL ${ms(services.postgresUs)} of processor; ${num(services.walBytes)} bytes of WAL, ${num(services.controlBytes)} bytes in the control database and ${num(services.cellBytes)} in
the cell's.

An instance that nobody asks anything: ${num(idle.cellBytes)} bytes in the cell. With ${num(idle.instances)} of them the daemon took ${num(idle.many.daemonUs)} µs of
processor a second and PostgreSQL ${num(idle.many.postgresUs)}, with a few ${num(idle.few.daemonUs)} and ${num(idle.few.postgresUs)}; memory of the daemon ${idle.daemonMb.few} and ${idle.daemonMb.many} MB. ${
    idleUs < 1 ? 'What each adds is below what could be measured.' : `Each adds about ${idleUs.toFixed(1)} µs a second.`
  }

## Connections

A replica held ${connections.most} connections under load and ${connections.atRest} at rest: \`LOCI_DATABASE_CONNECTIONS_MAX\` (16) for requests, four
for background work. Three replicas of a cell and a person stay below PostgreSQL's 100; with more, put
[PgBouncer](postgresql.md) between.

## Arithmetic: a cell

*Busy* is an agent that in a day does: ${operations.map(({ name }) => `${DAY[name]} × ${name}`).join(', ')}. That is
${secondsOfDay.toFixed(1)} s of processor and ${mb(walOfDay)} of WAL a day; after a year it has left ${mb(bytesOfYear)} (records, projections and cycles counted for good, the rest for ${HISTORY_DAYS} days; of a
cycle most leaves after ${HISTORY_DAYS} days too, so this is an upper bound). The busiest hour is taken as ${PEAK} times the mean, and half of the processor stays free.

| cores of daemons and PostgreSQL together | busy instances | operations a second in the busiest hour | WAL, MB a second |
|--:|--:|--:|--:|
${CORES.map((cores) => cellRow(cores, busyOf(cores), walOfDay)).join('\n')}

${machine.cores} cores are those of the measurement; the other rows take PostgreSQL for as fast on each core, which was not measured. One
daemon uses little more than one core: a replica for every core and a half that the daemons are to have.

Add a cell when one of these holds for a day:

| what | bound | where it is seen |
|---|---|---|
| processor of the cell's PostgreSQL or of a replica in the busiest hour | over half | the machine |
| recalls that take over 250 ms | \`LociRecallIsSlowSteady\` fires | [alerts.md](alerts.md) |
| answers 503 \`OVERLOADED\` in the busiest hour | any | dashboard of the daemon |
| disk of the cell's PostgreSQL | over 60 % | the machine |
| \`placed\` of \`cells list\` | nine tenths of \`capacity\` | [cells.md](cells.md) |

## Arithmetic: a fleet

One instance in ${1 / ACTIVE} is busy on a day; cells of 8 cores and ${num(DISK_GB)} GB, filled for a year. A cell then holds ${num(perCell(8))} instances.

| instances | cells | control database | one cell or all of them in a second of the busiest hour |
|--:|--:|--:|--:|
${FLEETS.map((count) => fleetRow(count, perCell(8), services.controlBytes, operations)).join('\n')}

Measured of it: 10⁶ services in one control database, lists and creations ([bench services](../../bench/README.md)); 10⁵ databases in one
instance; 10⁴ databases of 10³ records in one cell; ${num(idle.instances)} idle instances in one cell. Not measured: more than two cells
together, a control database of more than 10⁶ services, and anything on more than ${machine.cores} cores.
`
}

const usOf = ({ daemonUs, postgresUs }: Operation): number => daemonUs + postgresUs

/** Bytes of a year: what is kept for good grows all the time, the rest for a month. */
const daysOf = ({ name }: Operation): number => (/^(record|projection|cycle)/.test(name) ? 365 : HISTORY_DAYS)

function sumOf(operations: Operation[], of: (one: Operation) => number): number {
  return operations.reduce((sum, one) => sum + (DAY[one.name] ?? 0) * of(one), 0)
}

function cellRow(cores: number, busy: number, walOfDay: number): string {
  const perDay = Object.values(DAY).reduce((sum, count) => sum + count, 0)
  const inPeak = (each: number) => (busy * each * PEAK) / 86_400
  return `| ${cores} | ${num(busy)} | ${num(inPeak(perDay))} | ${(inPeak(walOfDay) / 1e6).toFixed(1)} |`
}

function fleetRow(count: number, perCell: number, controlBytes: number, operations: Operation[]): string {
  const cells = Math.ceil(count / perCell)
  const perDay = operations.reduce((sum, { name }) => sum + (DAY[name] ?? 0), 0)
  const asked = (instances: number) => num((instances * ACTIVE * perDay * PEAK) / 86_400)
  const gb = (count * controlBytes) / 1e9
  return `| ${num(count)} | ${num(cells)} | ${gb < 1 ? `${num(gb * 1_000)} MB` : `${num(gb)} GB`} | ${asked(count / cells)} of ${asked(count)} operations |`
}

function num(value: number): string {
  return value < 10 && !Number.isInteger(value)
    ? value.toFixed(1)
    : Math.round(value).toLocaleString('en-US').replaceAll(',', ' ')
}

const ms = (us: number): string => `${(us / 1_000).toFixed(1)} ms`
const mb = (bytes: number): string => `${num(bytes / 1e6)} MB`
