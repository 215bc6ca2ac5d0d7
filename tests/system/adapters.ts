// The adapters for frameworks of agents (integrations/): the tests of each against real servers, with the framework
// installed from the lock that stands in its folder. An adapter is found by its folder; a name among the arguments
// runs that one alone (`python/langgraph` where two languages have it). --short: two adapters, their newest frameworks,
// their tests.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Row, type Served, tableOf } from '../robustness/adapters/adapters.ts'
import { buildWheel, findAdapters, runAdapter } from '../robustness/adapters/python-adapters.ts'
import { findNodeAdapters, runNodeAdapters } from '../robustness/adapters/typescript.ts'
import { findPythons, MINORS, must, toolsOf } from '../robustness/python-environments.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const CLIENT = fileURLToPath(new URL('../../clients/python', import.meta.url))
const SHORT = { python: ['langgraph'], typescript: ['ai-sdk'] }
const CREATE = 'import sys; from locihq import Loci; print(Loci().services.create(sys.argv[1]).ready().id)'
const args = process.argv.slice(2)
const isShort = args.includes('--short')
const names = args.filter((arg) => !arg.startsWith('-'))
const isWanted =
  (language: keyof typeof SHORT) =>
  ({ name }: { name: string }) =>
    names.length > 0
      ? names.includes(name) || names.includes(`${language}/${name}`)
      : !isShort || SHORT[language].includes(name)

await reportOn(async (report) => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-adapters-'))
  const world = await startWorld({ replicas: 1 })
  try {
    const rows = await runPythons(report, world, place)
    const ofNode = findNodeAdapters().filter(isWanted('typescript'))
    rows.push(...(await runNodeAdapters(ofNode, { report, world, place, isShort })))
    for (const line of tableOf(rows)) report.note(line)
  } finally {
    await world.stop()
    rmSync(place, { recursive: true, force: true })
  }
})

async function runPythons(report: Report, world: World, place: string): Promise<Row[]> {
  const adapters = findAdapters().filter(isWanted('python'))
  if (adapters.length === 0) return []
  const [python] = findPythons()
  if (!python) {
    report.skip('the adapters of Python', `no Python of ${MINORS.join(', ')} with venv is here`)
    return []
  }
  const tools = await toolsOf(path.join(CLIENT, 'requirements-dev.txt'), python)
  const client = await buildWheel(tools, CLIENT, path.join(place, 'client'))
  const serve = async (own: string, name: string): Promise<Served> => {
    const { apiKey } = await addOrganization(world, name)
    const env = { LOCI_URL: world.management?.url as string, LOCI_API_KEY: apiKey }
    return { env: { ...env, LOCI_SERVICE: (await must(own, ['-c', CREATE, name], { env })).trim() } }
  }
  const rows: Row[] = []
  for (const adapter of adapters)
    rows.push(...(await runAdapter(adapter, { report, serve, place, python, tools, client, isShort })))
  return rows
}
