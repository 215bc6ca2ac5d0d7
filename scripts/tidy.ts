// What the compiler and the linter cannot see: who may import whom, what is left over, what must not be in the tree.
// `node scripts/tidy.ts` reports every violation in one run, one line each, and exits 1 if there is any.
// `node scripts/tidy.ts --rooms`: who imports whom inside each program. `--lines`: product lines of each package.

import { execFileSync } from 'node:child_process'
import { existsSync, lstatSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { checkAdvisoryLocks } from './tidy/advisory-locks.ts'
import { checkComments, checkWordings } from './tidy/comments.ts'
import { checkDocumentSizes, checkInventory, checkLinks, checkNamedFiles, checkQuotes } from './tidy/documents.ts'
import { checkLengths, checkNames, checkPlaces } from './tidy/files.ts'
import {
  checkEnvironment,
  checkFeatures,
  checkFloors,
  checkLocks,
  checkRoomCircles,
  checkRoomEdges,
  checkServers,
  checkSql,
  checkTesting,
  checkTransactions,
  type Problem,
  roomEdges,
} from './tidy/layers.ts'
import { productLines } from './tidy/lines.ts'
import { checkDependencies, checkLicences, checkLockfile, checkVersions } from './tidy/manifests.ts'
import { checkMutants } from './tidy/mutants.ts'
import { checkCircles, checkDeadFiles, checkExports } from './tidy/reach.ts'
import { readSources, type Tree } from './tidy/source.ts'
import { checkSqlShape, edgeCount, PARAMETERS_MAX, sqlShape } from './tidy/sql.ts'
import { checkWords } from './tidy/words.ts'
import { checkWorkflows } from './tidy/workflows.ts'

const BYTES_MAX = 2_000_000

const tree = readTree(path.dirname(import.meta.dirname))
const sources = readSources(tree)

const problems = [
  ...checkFloors(sources),
  ...checkFeatures(sources),
  ...checkTesting(sources),
  ...checkRoomCircles(sources),
  ...checkEnvironment(sources),
  ...checkServers(sources),
  ...checkSql(sources),
  ...checkLocks(sources),
  ...checkAdvisoryLocks(tree),
  ...checkTransactions(sources),
  ...checkCircles(sources),
  ...checkDeadFiles(tree, sources),
  ...checkExports(sources),
  ...checkMutants(tree, sources),
  ...checkDependencies(tree, sources),
  ...checkVersions(tree),
  ...checkLicences(tree),
  ...checkLockfile(tree),
  ...checkNames(tree),
  ...checkPlaces(tree),
  ...checkLengths(tree),
  ...checkWords(sources),
  ...checkComments(tree),
  ...checkWordings(tree),
  ...checkRoomEdges(sources),
  ...checkSqlShape(tree),
  ...checkLinks(tree),
  ...checkNamedFiles(tree),
  ...checkQuotes(tree),
  ...checkInventory(tree),
  ...checkDocumentSizes(tree),
  ...checkWorkflows(tree),
]

if (process.argv.includes('--lines')) sayLines()
for (const problem of problems.toSorted((a, b) => a.path.localeCompare(b.path) || a.line - b.line)) {
  console.log(say(problem))
}
for (const program of ['daemon', 'management']) {
  sayRooms(program, process.argv.includes('--rooms'))
  saySql(program, process.argv.includes('--rooms'))
}
console.log(`tidy: ${tree.size} files, ${problems.length} to mend`)
process.exitCode = problems.length > 0 ? 1 : 0

function say({ path: file, line, text }: Problem): string {
  return `${file}:${line}: ${text}`
}

function sayRooms(program: string, whole: boolean): void {
  const edges = roomEdges(sources, program)
  const rooms = new Set([...edges].flatMap(([from, to]) => [from, ...to]))
  const count = [...edges.values()].reduce((sum, to) => sum + to.size, 0)
  console.log(`${program}: ${count} import edges between ${rooms.size} rooms`)
  if (!whole) return
  for (const [from, to] of [...edges].sort()) console.log(`  ${from} -> ${[...to].sort().join(' ')}`)
}

function saySql(program: string, whole: boolean): void {
  const shape = sqlShape(tree, program)
  const { functions, lines, circle, wide, edges } = shape
  console.log(
    `${program} in SQL: ${edgeCount(shape)} edges between rooms, ${circle.length === 0 ? 'no circle' : `a circle of ${circle.length} rooms`}, ` +
      `${functions.length} functions, ${lines} lines, ${wide.length} with more than ${PARAMETERS_MAX} parameters`,
  )
  if (!whole) return
  for (const [from, to] of [...edges].sort()) console.log(`  ${from} -> ${[...to].sort().join(' ')}`)
  if (circle.length > 0) console.log(`  circle: ${circle.join(' ')}`)
  for (const { name, parameters } of wide.toSorted((a, b) => b.parameters - a.parameters))
    console.log(`  ${name}: ${parameters} parameters`)
}

function sayLines(): void {
  const row = (name: string, ...figures: (number | string)[]) =>
    console.log(name.padEnd(18) + figures.map((figure) => String(figure).padStart(12)).join(''))
  const sizes = [...productLines(tree)].sort()
  const total = (part: 'files' | 'lines' | 'sql') => sizes.reduce((sum, [, size]) => sum + size[part], 0)
  row('package', 'files', 'TypeScript', 'SQL')
  for (const [name, { files, lines, sql }] of sizes) row(name, files, lines, sql)
  row('all product', total('files'), total('lines'), total('sql'))
}

/** Every file that is or could be committed: what is ignored is nobody's business. A link is read where it leads. */
function readTree(top: string): Tree {
  const listed = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: top, encoding: 'utf8' })
  const files = new Map<string, string>()
  for (const file of listed.split('\0').sort()) {
    const full = path.join(top, file)
    if (file === '' || !existsSync(full) || !lstatSync(full).isFile() || statSync(full).size > BYTES_MAX) continue
    files.set(file, readFileSync(full, 'utf8'))
  }
  return files
}
