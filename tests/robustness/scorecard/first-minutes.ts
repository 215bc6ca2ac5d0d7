// Checks 1 to 9: from nothing to a memory that stays.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { shellOf } from '../../world/blocks.ts'
import { asUser, install, type Ran } from '../../world/packed.ts'
import { newPerson, startChromium, whyNoChromium } from '../signin/chromium.ts'
import { signInByCode } from './console-visit.ts'
import {
  another,
  type Check,
  dataOf,
  documentIn,
  FACT,
  QUESTION,
  type Setting,
  type UpData,
  type Verdict,
} from './setting.ts'

const COMMANDS_MAX = 4
const QUICK_MS_MAX = 120_000
const PARTS = ['postgres', 'management', 'daemon'] as const
const AGAIN_MS = 120_000

export const FIRST_MINUTES: readonly Check[] = [
  {
    number: 1,
    title: 'variables that must be set before the first success: 0',
    async measure({ quick }) {
      const read = shellOf('README.md', 'Ten lines to a memory')
      const planted = variablesIn(`${read}\nexport OPENAI_API_KEY=sk-…`).length
      return {
        passes: quick.isRecalled && variablesIn(read).length === 0,
        value: `${variablesIn(read).length} in README.md; run with HOME and PATH alone ${quick.isRecalled ? '' : quick.problem}`,
        mutant: { name: 'a key that README.md exports', caught: planted === 1 ? '1 variable' : undefined },
      }
    },
  },
  {
    number: 2,
    title: 'one group of processes, no Docker',
    async measure({ loci }) {
      const { pid } = await dataOf<UpData>(loci, ['up', '-d'])
      const names = below(pid)
      return {
        passes: isOneGroup(names),
        value: `the supervisor with ${names.join(', ')}`,
        mutant: {
          name: 'a container beside them',
          caught: isOneGroup([...names, 'dockerd']) ? undefined : 'not one group',
        },
      }
    },
  },
  {
    number: 3,
    title: `commands from nothing to a recalled memory: at most ${COMMANDS_MAX}`,
    async measure({ quick }) {
      const read = commandsIn(shellOf('README.md', 'Ten lines to a memory'))
      return {
        passes: quick.isRecalled && quick.commands.length <= COMMANDS_MAX && read.length <= COMMANDS_MAX,
        value: `${quick.commands.length} with the packages, ${read.length} in README.md`,
        mutant: {
          name: 'one line more in README.md',
          caught: commandsIn(`${read.join('\n')}\nmake bootstrap`).length > read.length ? 'counted' : undefined,
        },
      }
    },
  },
  {
    number: 4,
    title: 'time from nothing, with a warm cache, to the recalled memory in the console: at most 2 minutes',
    async measure(setting) {
      const { quick, within, installed } = setting
      const bound = await within(QUICK_MS_MAX)
      const told = `${quick.seconds.toFixed(1)} s to the recall by the command line, installed ${installed.how}`
      const isInTime = quick.isRecalled && quick.seconds * 1_000 <= bound.ms
      const missing = whyNoChromium()
      if (missing) return isInTime ? { passes: false, value: told, due: missing } : { passes: false, value: told }
      const { seconds, isSeen } = await seenInConsole(setting)
      return {
        passes: isInTime && isSeen && (quick.seconds + seconds) * 1_000 <= bound.ms,
        value: `${told}, ${seconds.toFixed(1)} s more to see it in the console (${bound.text})`,
      }
    },
  },
  {
    number: 5,
    title: 'works without a network',
    async measure({ isAlone, quick }) {
      const away = await fetch('http://192.0.2.1/', { signal: AbortSignal.timeout(5_000) }).then(
        () => 'answered',
        (error: Error) => (error.cause as { code?: string } | undefined)?.code ?? error.name,
      )
      if (!isAlone) return { passes: false, value: away, due: 'this machine makes no network namespace' }
      return {
        passes: quick.isRecalled && away === 'ENETUNREACH',
        value: `recalled in a network namespace with loopback alone; another address is ${away}`,
      }
    },
  },
  { number: 6, title: 'outbound connections by default: 0', measure: outbound },
  { number: 7, title: 'a taken port: its number, who has it, what else; an exit code of its own', measure: takenPort },
  {
    number: 8,
    title: 'the data directory is absolute and printed, and survives a restart and an update of the packages',
    measure: survives,
  },
  { number: 9, title: 'kill -9 right after an acknowledged store: it is recalled', measure: killed },
]

/** With a browser that begins, a sign-in by the code of `loci up code`, and the same question. */
async function seenInConsole(setting: Setting): Promise<{ seconds: number; isSeen: boolean }> {
  const { management } = await dataOf<UpData>(setting.loci, ['up', '-d'])
  const startedAt = performance.now()
  const browser = await startChromium()
  try {
    const person = await newPerson(browser)
    const page = await person.newPage()
    await signInByCode(setting, page, management)
    const [slug] = (await page.locator('.sv tbody a').first().getAttribute('href'))?.match(/(?<=\/s\/)[\w-]+/) ?? []
    await page.goto(`${management}/s/${slug}/memory?db=ada&q=${encodeURIComponent(QUESTION)}`)
    const said = await page.locator('.hits [data-hit] bdi').first().innerText()
    return { seconds: (performance.now() - startedAt) / 1_000, isSeen: said === FACT }
  } finally {
    await browser.close()
  }
}

function variablesIn(text: string): string[] {
  return text.match(/^\s*(?:export\s+)?[A-Z][A-Z0-9_]*=\S+/gm) ?? []
}

function commandsIn(text: string): string[] {
  return text.split('\n').filter((line) => /^\s*[^\s#]/.test(line))
}

/** The names of the processes right below one. */
function below(pid: number): string[] {
  const rows = execFileSync('ps', ['-A', '-o', 'ppid=,args='], { encoding: 'utf8' }).split('\n')
  return rows.flatMap((row) => {
    const [, parent, args = ''] = /^\s*(\d+)\s+(.*)$/.exec(row) ?? []
    if (Number(parent) !== pid) return []
    const [, program] = /(loci-(?:management|daemon))|$/.exec(args) ?? []
    return [program ?? path.basename(args.split(' ')[0] as string)]
  })
}

function isOneGroup(names: readonly string[]): boolean {
  return names.toSorted().join() === ['loci-daemon', 'loci-management', 'postgres'].join()
}

/** A loci of its own under the eyes of strace: every connect() of every process of it while it serves. */
async function outbound(setting: Setting): Promise<Verdict> {
  if (spawnSync('strace', ['--version']).status !== 0)
    return { passes: false, value: 'not seen', due: 'no strace on this machine' }
  const own = another(setting)
  const file = path.join(own.home, 'trace')
  const under = ['strace', '-f', '-qq', '--seccomp-bpf', '-e', 'trace=connect', '-o', file]
  const child = own.spawn(['up', '--port', '4700'], { under, env: { LOCI_UP_DATA: own.data } })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  await again(async () => said.includes('Ctrl-C stops it') || child.exitCode !== null)
  const stored = await own(['memory', 'store', FACT])
  const recalled = await own(['memory', 'recall', QUESTION])
  await sleep(setting.isShort ? 20_000 : 300_000)
  await own(['down'])
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const outside = lines.filter(leads)
  const connects = lines.filter((line) => line.includes('connect(')).length
  const isWhole = stored.code === 0 && recalled.stdout.includes(FACT) && connects > 20
  const planted = 'connect(23, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("203.0.113.7")}, 16) = -1'
  return {
    passes: isWhole && outside.length === 0,
    value: `${outside.length} of ${connects}, with the first start and ${setting.isShort ? '20 s' : '5 min'} of serving ${outside[0] ?? ''}${isWhole ? '' : `: it did not run: ${said}`}`,
    mutant: { name: 'a connection elsewhere', caught: leads(planted) ? 'counted' : undefined },
  }
}

function leads(line: string): boolean {
  const [, four, six] =
    /sa_family=AF_INET6?,.*?(?:inet_addr\("([^"]+)"\)|inet_pton\(AF_INET6, "([^"]+)")/.exec(line) ?? []
  const address = four ?? six
  return address !== undefined && !/^(?:127\.|::1$|::ffff:127\.|0\.0\.0\.0$|::$)/.test(address)
}

async function takenPort(setting: Setting): Promise<Verdict> {
  const own = another(setting)
  // Of the same user: who has a port is not told to others.
  const listen = "require('net').createServer().listen(4810, '127.0.0.1', () => console.log('up'))"
  const [program = '', ...rest] = [...asUser(setting.user), setting.installed.node, '-e', listen]
  const holder = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await once(holder.stdout, 'data')
    const { code, stderr } = await own(['up', '-d', '--port', '4800'])
    return {
      passes: saysPort({ code, stderr }),
      value: `exit ${code}: ${stderr.match(/127\.0\.0\.1:4810.*/)?.[0] ?? stderr.slice(0, 200)}`,
      mutant: {
        name: 'a message without who has it',
        caught: saysPort({ code, stderr: stderr.replace(/by pid \d+/, '') }) ? undefined : 'seen',
      },
    }
  } finally {
    holder.kill('SIGKILL')
  }
}

function saysPort({ code, stderr }: Pick<Ran, 'code' | 'stderr'>): boolean {
  return code === 69 && /127\.0\.0\.1:4810 is in use by pid \d+ \(.+\)/.test(stderr) && /--port \d+/.test(stderr)
}

async function survives({ loci, installed }: Setting): Promise<Verdict> {
  const { data_directory: before } = await dataOf<UpData>(loci, ['up', '-d'])
  const down = await loci(['down'])
  // As an update does: the packages are taken away and come back.
  rmSync(path.join(installed.folder, 'node_modules/@locihq'), { recursive: true })
  const { problem } = install(installed.folder, installed.dist)
  const up = await loci(['up', '-d'])
  const after = documentIn((await loci(['up', '-d', '--json'])).stdout)?.data.data_directory
  const { stdout } = await loci(['memory', 'recall', QUESTION, '--user', 'ada'])
  const isInPackage = before.startsWith(installed.folder)
  return {
    passes:
      path.isAbsolute(before) &&
      !isInPackage &&
      up.stdout.includes(before) &&
      after === before &&
      stdout.includes(FACT),
    value: `${before}; ${down.code}, ${problem ?? 'installed again'}, ${up.code}, ${stdout.includes(FACT) ? 'recalled' : 'not recalled'}`,
  }
}

async function killed({ loci, isShort }: Setting): Promise<Verdict> {
  const trials = isShort ? 6 : 100
  const words: string[] = []
  let kills = 0
  for (let turn = 0; turn < trials; turn += 1) {
    const word = `case${turn}${'qwrtzp'[turn % 6]}x`
    const store = ['memory', 'store', `The matter ${word} was settled`, '--user', 'cases']
    if (!(await again(async () => (await loci(store)).code === 0))) break
    words.push(word)
    const { stdout } = await loci(['status', '--json'])
    const parts = documentIn(stdout)?.data.parts as { name: string; pid: number | null }[] | undefined
    const pid = parts?.find(({ name }) => name === PARTS[turn % PARTS.length])?.pid
    if (!pid) continue
    process.kill(pid, 'SIGKILL')
    kills += 1
  }
  let found = 0
  const isRecalled = async (word: string) =>
    (await loci(['memory', 'recall', `matter ${word}`, '--user', 'cases', '--json'])).stdout.includes(
      `matter ${word} was`,
    )
  for (const word of words) if (await again(() => isRecalled(word))) found += 1
  return {
    passes: kills === trials && found === trials,
    value: `${found} of ${trials} after ${kills} kills`,
    mutant: {
      name: 'a matter that was never stored',
      caught: (await isRecalled('neverstored0x')) ? undefined : 'it is not recalled',
    },
  }
}

/** Until it succeeds: what was killed is being started again. */
async function again(work: () => Promise<boolean>): Promise<boolean> {
  const endsAt = performance.now() + AGAIN_MS
  for (;;) {
    if (await work()) return true
    if (performance.now() > endsAt) return false
    await sleep(100)
  }
}
