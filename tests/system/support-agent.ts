// The example of a support agent as a user has it: compiled against the packed client, three customers in one service,
// 300 turns, and every memory that an answer stands on is asked whose it is.

import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Heard, heardBy, type Seen } from '../robustness/support-agent.ts'
import { plantMutant } from '../world/mutant.ts'
import { untilReady } from '../world/process.ts'
import { type Report, reportOn } from '../world/report.ts'
import { addOrganization } from '../world/tenants.ts'
import { startWorld, type World } from '../world/world.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const TURNS = 300
/** As many as a mutant is given: two chats of each customer. */
const MUTANT_TURNS = 60

await reportOn(async (report) => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-support-agent-'))
  const world = await startWorld({ replicas: 1 })
  try {
    const { apiKey } = await addOrganization(world, 'acme')
    const env = { LOCI_URL: world.management?.url as string, LOCI_API_KEY: apiKey }
    const whole = compiled(report, place)
    const hear = (folder: string, turns: number) => heardBy({ folder, turns, env, node: process.execPath })
    judge(report, await hear(whole, TURNS))
    await withoutHeader(report, whole, (folder) => hear(folder, MUTANT_TURNS))
    await withoutFilter(report, world, () => hear(whole, MUTANT_TURNS))
  } finally {
    await world.stop()
    rmSync(place, { recursive: true, force: true })
  }
})

/** The example with the packed client beside it, in a folder that has nothing else of ours. */
function compiled(report: Report, place: string): string {
  const build = ['--disable-warning=ExperimentalWarning', 'scripts/build.ts', 'sdk', '--out', path.join(place, 'dist')]
  execFileSync(process.execPath, build, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  const folder = path.join(place, 'example')
  cpSync(path.join(ROOT, 'examples/support-agent'), folder, { recursive: true })
  mkdirSync(path.join(folder, 'node_modules/@locihq'), { recursive: true })
  cpSync(path.join(place, 'dist/sdk'), path.join(folder, 'node_modules/@locihq/sdk'), { recursive: true })
  const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')
  const { status, stdout } = spawnSync(process.execPath, [tsc, '-p', '.'], { cwd: folder, encoding: 'utf8' })
  report.promise(
    'the example compiles strictly by its own settings, against the packed client',
    status === 0,
    status === 0 ? 'no error' : stdout.slice(0, 400),
  )
  return folder
}

function judge(report: Report, { seen, ended }: Heard): void {
  const asked = seen.filter(({ turn }) => turn.hopes !== undefined)
  const wrong = asked.filter(({ turn, answer }) => !answer.text.includes(turn.hopes as string))
  for (const { turn, answer } of wrong) report.note(`${turn.customer} in ${turn.chat}: ${turn.says} ${answer.text}`)
  report.promise(
    'an agent of three customers in one service hears 300 turns, and nearly every question is answered as hoped',
    seen.length === TURNS && wrong.length <= asked.length / 20,
    `${seen.length} turns, ${asked.length - wrong.length} of ${asked.length} questions`,
  )
  const hits = seen.flatMap(({ answer }) => answer.hits)
  const curious = seen.filter(({ turn }) => turn.says.endsWith('?') && turn.hopes === undefined)
  report.promise(
    'no memory of one customer stands in an answer to another, also where it is asked for',
    hits.length > 100 && curious.length > 0 && strangers(seen).length === 0,
    `${strangers(seen).length} of ${hits.length} memories, ${curious.length} questions about somebody else's order`,
  )
  const [here, wide] = [
    seen.filter(({ answer }) => answer.from === 'this chat'),
    seen.filter(({ answer }) => answer.from === 'customer and team'),
  ]
  const databases = new Set(wide.flatMap(({ answer }) => answer.hits.map(({ database }) => database)))
  report.promise(
    'a recall by conversation finds that conversation alone, one over customer and team finds both',
    here.length > 30 && outsiders(seen).length === 0 && wide.length > 30 && databases.size === 4,
    `${here.length} in the chat, ${outsiders(seen).length} of another one; ${wide.length} over ${[...databases].join(', ')}`,
  )
  const refunds = seen.filter(({ answer }) => answer.tools.length > 0)
  const first = (some: Seen[]) => some.filter(({ answer }) => answer.tools[0] === 'refund_by_form').length
  const [early, late] = [refunds.slice(0, 12), refunds.slice(-9)]
  report.promise(
    'the advice turns after outcomes were reported: another tool comes first',
    first(early) < early.length / 2 && first(late) > late.length / 2,
    `refund_by_form first in ${first(early)} of the first ${early.length} refunds and in ${first(late)} of the last ${late.length}`,
  )
  report.promise(
    'each chat ends with a cycle, the pinned slot stays, and nothing is left open',
    ended.every(({ cycles, pinned, open }) => cycles === 10 && pinned && !open),
    ended.map(({ customer, cycles, slots }) => `${customer} ${cycles} cycles, ${slots} in mind`).join('; '),
  )
}

/** Memories in answers to a customer who did not say them, and that are not the shop's. */
function strangers(seen: Seen[]): string[] {
  return seen.flatMap(({ turn: { customer }, answer }) => {
    const own = new Set(seen.filter(({ turn }) => turn.customer === customer).map(({ turn }) => turn.says))
    const isOwn = ({ actor, content, kind }: Seen['answer']['hits'][number]) =>
      actor === null ? kind === 'rule' : actor === customer && own.has(content)
    return answer.hits.filter((hit) => !isOwn(hit)).map(({ content }) => `${customer} was told "${content}"`)
  })
}

/** Memories of another chat in what was looked for in one. */
function outsiders(seen: Seen[]): string[] {
  return seen.flatMap(({ turn, answer }) => {
    if (answer.from !== 'this chat') return []
    const said = new Set(seen.filter((one) => one.turn.chat === turn.chat).map((one) => one.turn.says))
    return answer.hits.filter(({ content }) => !said.has(content)).map(({ content }) => `${turn.chat}: "${content}"`)
  })
}

async function withoutHeader(report: Report, whole: string, hear: (folder: string) => Promise<Heard>): Promise<void> {
  const edit = {
    file: 'sdk/services.ts',
    from: "this.#home.daemonOf(this, { 'x-loci-database': name })",
    to: 'this.#home.daemonOf(this, {})',
  }
  const folder = `${whole}-without-header`
  cpSync(whole, folder, { recursive: true })
  const built = path.join(folder, 'node_modules/@locihq/sdk', edit.file.replace(/ts$/, 'js'))
  const text = readFileSync(built, 'utf8')
  if (!text.includes(edit.from)) throw new Error(`the built client has another text than ${edit.file}`)
  writeFileSync(built, text.replace(edit.from, edit.to))
  const [leak] = strangers((await hear(folder)).seen)
  report.mutant('a client that leaves the database out of its headers', leak)
}

async function withoutFilter(report: Report, world: World, hear: () => Promise<Heard>): Promise<void> {
  const [real] = world.daemons
  if (!real) throw new Error('the world has no daemon')
  await using planted = await plantMutant([
    {
      file: 'daemon/memory/recall.ts',
      from: '...(contextIds ? { contexts: contextIds.map(facets.context) } : {}),',
      to: '',
    },
    {
      file: 'daemon/memory/recall.ts',
      from: 'contextIds: !contextIds || (body.contextId !== null && contextIds.includes(body.contextId)),',
      to: '',
    },
  ])
  await real.stop()
  // Where management says that the service is.
  const daemon = await planted.startProgram('daemon', world.daemonSettings({ LOCI_LISTEN: new URL(real.url).host }))
  try {
    await untilReady(daemon.url)
    const [outsider] = outsiders((await hear()).seen)
    report.mutant('a server that ignores the conversation of a recall', outsider)
  } finally {
    await daemon.stop()
  }
}
