// Checks 10 to 19: how the command line answers, in every way that it can be called.

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { asUser, type CommandLine } from '../../world/packed.ts'
import { mapWidth } from '../../world/report.ts'
import {
  another,
  type Check,
  copyProfiles,
  dataOf,
  documentIn,
  own,
  type Setting,
  scratch,
  secretOf,
  type UpData,
  type Verdict,
} from './setting.ts'
import { type Strange, serving } from './strange-servers.ts'

const HELP_MS_MAX = 250
/** On a busy machine: of what a Node that does nothing takes in the same minute, 50 ms on an idle one. */
const HELP_STARTS_MAX = 5
const LOGIN_MS_MAX = 1_000
const HELP_RUNS = 10
const CODES_MIN = 10

export const COMMAND_LINE: readonly Check[] = [
  {
    number: 10,
    title: `loci --help, median of ${HELP_RUNS}: at most ${HELP_MS_MAX} ms`,
    async measure({ loci, installed, user }) {
      const [bare = '', ...rest] = [...asUser(user), 'env', '-i', installed.node, '-e', '0']
      const [helps, starts]: [number[], number[]] = [[], []]
      let lines = 0
      // In turn, so that what else the machine does is in both.
      for (let turn = 0; turn < HELP_RUNS; turn += 1) {
        const startedAt = performance.now()
        await once(spawn(bare, rest, { stdio: 'ignore' }), 'close')
        const betweenAt = performance.now()
        lines = (await loci(['--help'])).stdout.split('\n').length
        starts.push(betweenAt - startedAt)
        helps.push(performance.now() - betweenAt)
      }
      const median = (times: number[]) => times.toSorted((a, b) => a - b)[HELP_RUNS / 2] as number
      const [help, start] = [median(helps), median(starts)]
      const isFast = (ms: number) => ms <= HELP_MS_MAX || ms <= HELP_STARTS_MAX * start
      return {
        passes: isFast(help) && lines > 20,
        value: `${help.toFixed(0)} ms, a Node that does nothing ${start.toFixed(0)} ms: ${(help / start).toFixed(1)} of at most ${HELP_STARTS_MAX} where it is above ${HELP_MS_MAX} ms`,
        mutant: {
          name: 'a help after nine more starts of Node',
          caught: isFast(help + 9 * Math.max(start, 30)) ? undefined : 'too slow',
        },
      }
    },
  },
  {
    number: 11,
    title: 'a misspelt command: what was meant, and exit 2',
    async measure({ loci }) {
      const [command, option] = [await loci(['memroy', 'store', 'x']), await loci(['memory', 'store', 'x', '--tga=y'])]
      const said = [command, option].map(({ stderr }) => /Did you mean:? (.*)/.exec(stderr)?.[1])
      const far = await loci(['xyzzy'])
      return {
        passes: command.code === 2 && option.code === 2 && said.join() === 'loci memory,--tag?',
        value: `${said.join(', ')}; exit ${command.code}, ${option.code}`,
        mutant: {
          name: 'a word that is near nothing',
          caught: far.code === 2 && !/Did you mean/.test(far.stderr) ? 'nothing is suggested' : undefined,
        },
      }
    },
  },
  { number: 12, title: '--json: exactly one document, on success and failure, of all commands', measure: documents },
  {
    number: 13,
    title: 'an unreachable server: its address, the cause, the next command',
    async measure({ loci }) {
      const { code, stderr } = await loci(['services', 'list'], {
        env: { LOCI_URL: 'http://127.0.0.1:4999', LOCI_API_KEY: 'loci_sk_x' },
      })
      const saysAll = (text: string) =>
        /http:\/\/127\.0\.0\.1:4999 /.test(text) &&
        /\(connection refused\)/.test(text) &&
        /loci up/.test(text) &&
        /loci doctor/.test(text)
      return {
        passes: code === 69 && saysAll(stderr),
        value: stderr.trim().split('\n')[0] ?? '',
        mutant: { name: 'fetch failed', caught: saysAll('error  fetch failed') ? undefined : 'says nothing of them' },
      }
    },
  },
  { number: 14, title: `documented exit codes, each provoked: at least ${CODES_MIN}`, measure: exitCodes },
  { number: 15, title: 'help --json lists every command and every option', measure: helpIsWhole },
  {
    number: 16,
    title: 'off a terminal and with NO_COLOR: no escape byte on either stream',
    async measure(setting) {
      const { loci, printed } = setting
      await loci(['status'], { env: { NO_COLOR: '1', CI: '1' } })
      await loci(['doctor'], { env: { FORCE_COLOR: '1', TERM: 'xterm-256color' } })
      const escapes = (texts: readonly string[]) => texts.join('').split('\u001b').length - 1
      const planted = escapes([...printed, '\u001b[32mok\u001b[0m'])
      return {
        passes: printed.length > 20 && escapes(printed) === 0,
        value: `${escapes(printed)} in ${printed.join('').length} characters of ${printed.length / 2} commands`,
        mutant: { name: 'a green ok', caught: planted === 2 ? '2' : undefined },
      }
    },
  },
  {
    number: 17,
    title: 'completion of bash, zsh, fish and PowerShell completes a service: 4 of 4',
    measure: completions,
  },
  { number: 18, title: 'login over SSH: address and code within a second', measure: loginOverSsh },
  {
    number: 19,
    title: 'credentials are for their owner alone, and masked in config show, --verbose and logs',
    measure: masked,
  },
]

interface Known {
  command: string
  arguments: { choices?: string[] }[]
  options: { name: string }[]
}

async function treeOf(loci: CommandLine): Promise<Known[]> {
  return (await dataOf<{ commands: Known[] }>(loci, ['help'])).commands
}

/** What ends only when somebody ends it, or ends what the others use. */
function harmless(command: string, folder: string): string[] {
  if (command === 'login') return ['--url', 'http://127.0.0.1:4999']
  if (/^(?:up|down|setup|status|logs|doctor)/.test(command) && command !== 'setup' && command !== 'up code')
    return ['--data', path.join(folder, 'nothing')]
  return command === 'setup' ? ['--directory', path.join(folder, 'nothing')] : []
}

async function documents(setting: Setting): Promise<Verdict> {
  const tree = await treeOf(setting.loci)
  const missed: string[] = []
  let calls = 0
  await mapWidth(tree, 2, async ({ command, arguments: taken }) => {
    const mine = another(setting, setting.loci)
    const folder = scratch(setting, 'sweep')
    const some = taken.map(({ choices }) => choices?.[0] ?? 'x')
    const words = command.split(' ')
    const forms = [
      [...words, ...some, ...harmless(command, folder)],
      [...words, '--nonsense'],
    ]
    for (const form of setting.isShort ? forms.slice(0, 1) : [...forms, [...words, ...harmless(command, folder)]]) {
      copyProfiles(setting.loci.home, mine)
      const { stdout, code } = await mine([...form, '--json'])
      calls += 1
      const found = documentIn(stdout)
      if (!found || found.ok !== (code === 0))
        missed.push(`loci ${form.join(' ')}: exit ${code}, ${stdout.slice(0, 80)}`)
    }
  })
  return {
    passes: tree.length > 70 && missed.length === 0,
    value: missed[0] ?? `${calls} calls of ${tree.length} commands`,
    mutant: {
      name: 'two documents, and text before one',
      caught: [`{"ok":true}\n{"ok":true}`, `stored\n{"ok":true}`].every((text) => documentIn(text) === undefined)
        ? 'none is taken'
        : undefined,
    },
  }
}

async function exitCodes(setting: Setting): Promise<Verdict> {
  const { loci } = setting
  const { profile } = await dataOf<UpData>(loci, ['up', '-d'])
  await using strange = await serving()
  await using silent = await serving()
  const at = (url: string) => ({ env: { LOCI_URL: url, LOCI_API_KEY: 'loci_sk_x' } })
  const { secret } = await dataOf<{ secret: string }>(loci, ['keys', 'create', 'narrow', '--scope', 'services:read'])
  const provoked: [code: number, what: string, ran: Promise<{ code: number | null }>][] = [
    [0, 'a list', loci(['services', 'list'])],
    [1, 'a check that fails', loci(['doctor'], { env: { HTTP_PROXY: 'http://127.0.0.1:1' } })],
    [2, 'a misspelt command', loci(['memroy'])],
    [3, 'a memory that is not there', loci(['memory', 'get', 'mem_00000000000000000000000000'])],
    [4, 'a key of nobody', loci(['services', 'list'], { env: { LOCI_API_KEY: 'loci_sk_nobody' } })],
    [5, 'a narrow key', loci(['keys', 'create', 'more'], { env: { LOCI_API_KEY: secret } })],
    [6, 'a profile that is there', loci(['profiles', 'create', profile, '--url', 'http://127.0.0.1:1'])],
    [7, 'a server that refuses for the rate', loci(['services', 'list', '--timeout', '3'], at(strange.busy))],
    [8, 'a server that never answers', loci(['services', 'list', '--timeout', '2'], at(strange.silent))],
    [9, 'a server that fails', loci(['api', 'POST', '/api/v1/organizations', '-d', '{}'], at(strange.broken))],
    [69, 'no server', loci(['services', 'list'], at('http://127.0.0.1:4999'))],
    [78, 'a profile that is not there', loci(['services', 'list', '--profile', 'nobody'])],
    [130, 'Ctrl-C', interrupted(loci, silent)],
  ]
  const { exit_codes: documented } = await dataOf<{ exit_codes: Record<string, string> }>(loci, ['help'])
  const ended = await Promise.all(provoked.map(async ([code, what, ran]) => ({ code, what, got: (await ran).code })))
  const wrong = ended.filter(({ code, got }) => got !== code || !(code in documented))
  return {
    passes: wrong.length === 0 && ended.length >= CODES_MIN,
    value:
      wrong.map(({ code, what, got }) => `${what}: ${got} and not ${code}`).join('; ') ||
      `${ended.length} of ${Object.keys(documented).length}: ${ended.map(({ code }) => code).join(' ')}`,
  }
}

async function interrupted(loci: CommandLine, { silent, asked }: Strange): Promise<{ code: number | null }> {
  const child = loci.spawn(['services', 'list'], { env: { LOCI_URL: silent, LOCI_API_KEY: 'loci_sk_x' } })
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve))
  await asked
  child.kill('SIGINT')
  return { code: await closed }
}

async function helpIsWhole({ loci, isShort }: Setting): Promise<Verdict> {
  const tree = await treeOf(loci)
  const every = isShort ? tree.filter((_, at) => at % 8 === 0) : tree
  const shown = await mapWidth(every, 2, async ({ command, options }) => {
    const { stdout } = await loci([...command.split(' '), '--help'])
    const [, text = ''] = /\nOptions:\n([\s\S]*?)\n\nFor every command:/.exec(stdout) ?? []
    const named = [...text.matchAll(/^ +(?:-\w, )?(--[\w-]+)/gm)].map(([, name]) => name as string)
    return {
      command,
      missing: differ(
        named,
        options.map(({ name }) => name),
      ),
    }
  })
  const groups = [...(await loci(['--help'])).stdout.matchAll(/^ {2}loci ([\w-]+) {2,}(.*)$/gm)]
  const listed = groups.flatMap(([, group = '', verbs = '']) => {
    const own = verbs.includes(' | ') || tree.some(({ command }) => command.startsWith(`${group} `))
    const names = own ? verbs.slice(verbs.lastIndexOf('; ') + 1).split(' | ') : []
    return names.map((verb) => `${group} ${verb.trim()}`)
  })
  const known = tree.map(({ command }) => command)
  const lost = listed.filter((name) => !known.includes(name))
  const wrong = shown.filter(({ missing }) => missing.length > 0)
  const [first] = shown
  return {
    passes: lost.length === 0 && wrong.length === 0 && listed.length > 60,
    value: `${known.length} commands, options of ${shown.length} compared with their help ${[...lost, ...wrong.map(({ command, missing }) => `${command} ${missing}`)].join('; ')}`,
    mutant: {
      name: 'an option that only --help has',
      caught: first && differ(['--new'], []).join() === '--new' ? 'named' : undefined,
    },
  }
}

function differ(one: readonly string[], other: readonly string[]): string[] {
  return [...one.filter((name) => !other.includes(name)), ...other.filter((name) => !one.includes(name))]
}

/** What each shell is told to do with the script in `$1`; it prints what it offers for `loci services get de`. */
const ASKED: Readonly<Record<string, string>> = {
  bash: `. "$1"; COMP_WORDS=(loci services get de); COMP_CWORD=3; _loci; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: `compdef() { :; }; compadd() { shift; print -l -- "$@"; }; . "$1"; words=(loci services get de); CURRENT=4; _loci`,
  fish: `source $argv[1]; complete -C 'loci services get de'`,
  pwsh: `. $args[0]; (TabExpansion2 'loci services get de' 20).CompletionMatches.CompletionText`,
}

async function completions(setting: Setting): Promise<Verdict> {
  const { loci, installed } = setting
  const folder = scratch(setting, 'bin')
  chmodSync(folder, 0o755)
  writeFileSync(path.join(folder, 'loci'), `#!/bin/sh\nexec '${installed.node}' '${installed.main}' "$@"\n`, {
    mode: 0o755,
  })
  const env = { PATH: `${folder}:/usr/bin:/bin:/usr/local/bin`, HOME: loci.home }
  const missing: string[] = []
  const right: string[] = []
  const wrong: string[] = []
  for (const [shell, asked] of Object.entries(ASKED)) {
    if (spawnSync(shell, ['-c', 'exit'], { env }).status !== 0) {
      missing.push(shell)
      continue
    }
    const file = path.join(folder, shell === 'pwsh' ? 'loci.ps1' : shell)
    writeFileSync(file, (await loci(['completion', shell === 'pwsh' ? 'powershell' : shell])).stdout)
    own(folder, setting.user)
    const words = shell === 'fish' ? ['-c', asked, file] : ['-c', asked, shell, file]
    const [program = '', ...rest] = [...asUser(setting.user), shell, ...words]
    const offered = spawnSync(program, rest, { env, encoding: 'utf8', cwd: loci.home }).stdout.trim()
    if (offered === 'default') right.push(shell)
    else wrong.push(`${shell}: ${offered}`)
  }
  const value = `${right.length} of 4: ${right.join(', ')} ${wrong.join('; ')}`
  if (wrong.length > 0 || right.length === 4) return { passes: wrong.length === 0, value }
  return { passes: false, value, due: `not on this machine: ${missing.join(', ')}` }
}

async function loginOverSsh({ loci, within, ...setting }: Setting): Promise<Verdict> {
  const { management } = await dataOf<UpData>(loci, ['up', '-d'])
  const mine = another({ loci, within, ...setting })
  const env = { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22', SSH_TTY: '/dev/pts/9' }
  const startedAt = performance.now()
  const child = mine.spawn(['login', '--url', management], { env })
  let said = ''
  const ms = await new Promise<number>((resolve) => {
    child.once('close', () => resolve(Number.POSITIVE_INFINITY))
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said += text
      if (/^Open +http\S+\/cli-login\n(?:.*\n)*Type +\S+\n/m.test(said)) resolve(performance.now() - startedAt)
    })
  })
  child.kill('SIGINT')
  const bound = await within(LOGIN_MS_MAX)
  return { passes: ms <= bound.ms, value: `${ms.toFixed(0)} ms (${bound.text})` }
}

async function masked(setting: Setting): Promise<Verdict> {
  const { loci } = setting
  const key = secretOf(setting, 'api-key')
  const credentials = path.join(loci.home, '.config/loci/credentials.toml')
  const mode = statSync(credentials).mode & 0o777
  const { token } = await dataOf<{ token: string }>(loci, ['tokens', 'create', '--name', 'masked'])
  const texts = [await loci(['config', 'show']), await loci(['services', 'list', '--verbose'])]
  const verbose = await loci(['memory', 'recall', 'x', '--verbose'])
  const logs = readdirSync(path.join(loci.data, 'logs')).map((name) =>
    readFileSync(path.join(loci.data, 'logs', name), 'utf8'),
  )
  const all = [...[...texts, verbose].flatMap(({ stdout, stderr }) => [stdout, stderr]), ...logs]
  const found = (among: readonly string[]) => among.filter((text) => text.includes(key) || text.includes(token)).length
  const opened = path.join(loci.home, '.config/loci')
  chmodSync(credentials, 0o644)
  const refused = await loci(['services', 'list'])
  chmodSync(credentials, mode)
  const args = execFileSync('ps', ['-A', '-ww', '-o', 'args='], { encoding: 'utf8' })
  return {
    passes:
      mode === 0o600 &&
      found([...all, args]) === 0 &&
      refused.code !== 0 &&
      verbose.stderr.includes('POST /v1/memory/recall'),
    value: `mode ${mode.toString(8)}, ${found([...all, args])} of ${all.length} texts hold a secret; open to others it is refused (${refused.code})`,
    mutant: {
      name: 'the file with the key among the texts',
      caught: found([readFileSync(path.join(opened, 'credentials.toml'), 'utf8')]) === 1 ? 'found' : undefined,
    },
  }
}
