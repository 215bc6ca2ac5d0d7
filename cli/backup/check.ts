// Whether what is written could be had again: WAL that leaves the machine, backups that are young enough, and a ledger
// of erasures that management has. For a timer: its exit code says whether somebody has to look.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Check, type Finding, fail, findings, ok, warn } from '../commands/findings.ts'
import { counted } from '../commands/shown.ts'
import { usage } from '../failure.ts'
import { administrator } from '../setup/administrator.ts'
import type { Call, Result } from '../tree/command.ts'
import { countUnreported, openServer, readServer, type Server, type Unreported } from './store.ts'

/** Twice the archive_timeout of docs/operations/backups.md, and a slow repository. */
const ARCHIVED_S_MAX = 120
/** Twice the interval of the feed, and a busy management. */
const REPORTED_S_MAX = 60
const BACKUP_HOURS_MAX = '26'
const INFO_MS_MAX = 60_000

interface Info {
  status: { code: number; message: string }
  backup: { type: string; timestamp: { stop: number }; error: boolean | null }[]
}

export async function checkBackup(call: Call): Promise<Result> {
  const url = administrator(call)
  if (!url) throw usage('--database-url-file is missing: a file with the address of PostgreSQL for its administrator.')
  const hoursMax = Number(call.text('max-age-hours') ?? BACKUP_HOURS_MAX)
  if (!(hoursMax > 0)) throw usage('--max-age-hours must be a number above 0.')
  const stanza = call.text('stanza')
  const pool = openServer(url)
  try {
    let server: Server | undefined
    const known = async (): Promise<Server> => {
      server ??= await readServer(pool)
      return server
    }
    const checks: Check[] = [
      ['archiving', async () => archiving(await known())],
      ['archived', async () => archived(await known())],
      ['checksums', async () => checksums(await known())],
      ['ledger', async () => ledgerOf(await countUnreported(pool))],
      [
        'backups',
        () =>
          stanza === undefined
            ? warn('not looked at', '--stanza names that of pgBackRest')
            : backups(call, stanza, hoursMax),
      ],
    ]
    return await findings(checks, (error) =>
      fail(error.message, 'is PostgreSQL running, and does the address lead to it?'),
    )
  } finally {
    await pool.close()
  }
}

function archiving({ mode, command, timeoutS, isStandby }: Server): Finding {
  if (isStandby) return warn('this is a standby: it archives nothing', 'ask the primary')
  const page = 'docs/operations/backups.md, Begin'
  if (mode === 'off') return fail('archive_mode is off: no moment can be restored', `${page}; it needs a restart`)
  if (/^\s*$|^\/?(?:usr\/)?(?:bin\/)?true$/.test(command))
    return fail(`archive_command keeps nothing: '${command}'`, page)
  if (timeoutS === 0 || timeoutS > 60)
    return warn(`archive_timeout is ${timeoutS} s: what was written last leaves the machine late`, 'set it to 30s')
  return ok(`on, at the latest after ${timeoutS} s`)
}

function archived({ isFailing, failedWal, archivedS, isBehind, timeoutS, isStandby }: Server): Finding {
  if (isStandby) return warn('this is a standby: it archives nothing', 'ask the primary')
  if (isFailing)
    return fail(`${failedWal} could not be archived`, "PostgreSQL's log says why; WAL stays on its disk until it is")
  if (archivedS === null) return fail('nothing was archived yet', 'pgbackrest check')
  const seconds = Math.round(archivedS)
  if (isBehind && seconds > Math.max(ARCHIVED_S_MAX, 2 * timeoutS))
    return fail(`the last file left ${seconds} s ago, and there is a newer one`, "PostgreSQL's log says why")
  return ok(`the last file left ${seconds} s ago`)
}

function checksums({ checksums: state }: Server): Finding {
  if (state === 'on') return ok('pages that rot are found when they are backed up')
  return warn(
    'data_checksums is off: a backup takes rotten pages for good ones',
    'stop the server and run pg_checksums --enable',
  )
}

/** Of a cell: what management does not know yet would be back after a restore. */
function ledgerOf(unreported: Unreported | undefined): Finding {
  if (!unreported) return ok('not a cell')
  const { count, oldestS } = unreported
  if (count === 0) return ok('management knows everything that was erased')
  const told = `${counted(count, 'erasure')} not with management, the oldest for ${Math.round(oldestS ?? 0)} s`
  return (oldestS ?? 0) > REPORTED_S_MAX
    ? fail(`${told}: a restore would bring it back`, 'is management reached?')
    : ok(told)
}

async function backups({ text, host }: Call, stanza: string, hoursMax: number): Promise<Finding> {
  const config = text('pgbackrest-config')
  const words = [...(config === undefined ? [] : [`--config=${config}`]), `--stanza=${stanza}`, '--output=json', 'info']
  const run = promisify(execFile)('pgbackrest', words, { timeout: INFO_MS_MAX, cwd: host.cwd, maxBuffer: 2 ** 26 })
  const answer = await run.catch((error: Error & { stdout?: string; code?: unknown }) => error)
  if (answer instanceof Error)
    return fail(
      answer.code === 'ENOENT'
        ? 'pgbackrest is not installed here'
        : `pgbackrest info: ${(answer.stdout || answer.message).trim()}`,
      'run this where the backups are made, as the user of PostgreSQL',
    )
  const [info] = JSON.parse(answer.stdout) as Info[]
  if (info?.status.code !== 0)
    return fail(`${stanza}: ${info?.status.message ?? 'unknown'}`, 'pgbackrest stanza-create, and a full backup')
  const last = info.backup.filter(({ error }) => !error).at(-1)
  if (!last) return fail('there is no backup without errors', 'pgbackrest --type=full backup; pgbackrest verify')
  const hours = (Date.now() / 1_000 - last.timestamp.stop) / 3_600
  const told = `${counted(info.backup.length, 'backup')}, the last one (${last.type}) ${hours.toFixed(1)} h old`
  return hours > hoursMax ? fail(`${told}, older than ${hoursMax} h`, 'look at the timer that makes them') : ok(told)
}
