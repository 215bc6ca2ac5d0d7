// From an empty folder to a recalled memory with the packed command line: at most four commands, no variable, no
// network but loopback, as a user without rights and as root. Then each process is killed right after stores.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type CommandLine,
  commandLine,
  installPacked,
  NOBODY,
  ownNetwork,
  SUPERUSER,
  type User,
} from '../world/packed.ts'
import { type Report, reportOn } from '../world/report.ts'

const IS_SHORT = process.argv.includes('--short')
const KILLS = IS_SHORT ? 1 : 30
const PARTS = ['postgres', 'management', 'daemon'] as const
const TRY_MS = 120_000

await reportOn(async (report) => {
  const place = mkdtempSync(path.join(tmpdir(), 'loci-five-'))
  chmodSync(place, 0o755)
  try {
    await fiveMinutes(report, place)
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})

async function fiveMinutes(report: Report, place: string): Promise<void> {
  const installed = installPacked(place)
  const { seconds, how, problem } = installed
  report.promise(
    'the packed command line installs into an empty folder',
    problem === undefined,
    problem ?? `${how}, ${seconds.toFixed(1)} s`,
  )
  const isRoot = process.getuid?.() === 0
  using net = isRoot ? networkFor(report) : undefined
  const users: User[] = isRoot ? [NOBODY, SUPERUSER] : [{ name: 'this user', uid: undefined }]
  if (!isRoot) report.skip('as root, and without a network', 'this test does not run as root')
  for (const user of users) {
    const loci = commandLine(place, installed, { net, user })
    try {
      await firstMemory(report, loci, user, seconds)
      if (user === users[0]) await killed(report, loci)
    } finally {
      await loci(['down', '--data', loci.data])
    }
  }
}

function networkFor(report: Report) {
  const net = ownNetwork()
  if ('pid' in net) return net
  report.skip('no network but loopback', net.missing)
  return undefined
}

async function firstMemory(report: Report, loci: CommandLine, { name }: User, installS: number): Promise<void> {
  const startedAt = performance.now()
  const up = await loci(['up', '-d', '--data', loci.data])
  const stored = await loci(['memory', 'store', 'Ada prefers replies in Dutch', '--user', 'ada'])
  const recalled = await loci(['memory', 'recall', 'which language for Ada?', '--user', 'ada', '--why'])
  const isThere = recalled.stdout.includes('Ada prefers replies in Dutch')
  const seconds = installS + (performance.now() - startedAt) / 1_000
  report.promise(
    `as ${name}, from nothing to a recalled memory in 4 commands`,
    up.code === 0 && stored.code === 0 && isThere,
    `${seconds.toFixed(1)} s with the installation${isThere ? '' : `: ${up.stderr}${stored.stderr}${recalled.stderr}`}`,
  )
}

async function killed(report: Report, loci: CommandLine): Promise<void> {
  const words: string[] = []
  for (const part of PARTS) {
    let kills = 0
    for (let turn = 0; turn < KILLS; turn += 1) {
      const word = `${part}${'abcdefghijklmnopqrstuvwxyz'[turn % 26]}${turn}x`
      await again(
        async () => (await loci(['memory', 'store', `The case ${word} was settled`, '--user', 'cases'])).code === 0,
      )
      words.push(word)
      const pid = await pidOf(loci, part)
      if (pid === undefined) continue
      process.kill(pid, 'SIGKILL')
      kills += 1
    }
    report.promise(
      `${part} is killed right after each acknowledged store`,
      kills === KILLS,
      `${kills} of ${KILLS} times`,
    )
  }
  await again(async () => (await loci(['status', '--data', loci.data])).code === 0)
  const found = async () => {
    let count = 0
    for (const word of words) if (await again(() => isRecalled(loci, word), 20_000)) count += 1
    return count
  }
  const after = await found()
  report.promise('every store that was acknowledged is recalled', after === words.length, `${after} of ${words.length}`)
  const down = await loci(['down', '--data', loci.data])
  const up = await loci(['up', '-d', '--data', loci.data])
  const kept = await found()
  report.promise(
    'after down and up everything is there',
    down.code === 0 && up.code === 0 && kept === words.length,
    `${kept} of ${words.length}`,
  )
  report.mutant(
    'a case that was never stored',
    (await isRecalled(loci, 'neverstored0x')) ? undefined : 'it is not recalled',
  )
}

async function isRecalled(loci: CommandLine, word: string): Promise<boolean> {
  const { stdout } = await loci(['memory', 'recall', `case ${word}`, '--user', 'cases', '--json'])
  return stdout.includes(`The case ${word} was settled`)
}

async function pidOf(loci: CommandLine, part: string): Promise<number | undefined> {
  const { stdout } = await loci(['status', '--data', loci.data, '--json'])
  const { data } = JSON.parse(stdout) as { data: { parts: { name: string; pid: number | null }[] } }
  return data.parts.find(({ name }) => name === part)?.pid ?? undefined
}

/** Until it succeeds: what was killed is being started again. */
async function again(work: () => Promise<boolean>, withinMs = TRY_MS): Promise<boolean> {
  const endsAt = performance.now() + withinMs
  for (;;) {
    if (await work()) return true
    if (performance.now() > endsAt) return false
    await sleep(100)
  }
}
