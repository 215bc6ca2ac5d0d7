// `loci setup`: what docs/operations/install.md does by hand, as one command that can be run again: after it was cut
// off, after an upgrade, after a restore. Each part looks for what is there; no secret is replaced, none stands among
// arguments, and what is on a server already is never taken over.

import { createHash, randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { newKeyPair, type PrivateJwk } from '@loci/capability/jws.ts'
import { type DatabaseProgram, loginsOf } from '@loci/postgres/roles.ts'
import { CommandFailure, usage } from '../failure.ts'
import type { Call, Result } from '../tree/command.ts'
import { addOrFindCell, makeOrFindOrganization } from '../up/first-start.ts'
import { findPrograms, type ProgramName, runCommand, type Settings } from '../up/programs.ts'
import { findDatabases, findLogins, loginUrl, passwordIn, prepareDatabase, readVersion } from '../up/store.ts'
import { administrator } from './administrator.ts'
import { type Chosen, chosenFor, keepChosen } from './chosen.ts'
import { type Folder, folderAt, makeFolder, UNITS } from './folder.ts'
import { readiness } from './health.ts'
import { closedOnTheWay, unitName, unitText } from './units.ts'

const USUAL_FOLDER = '/etc/loci'
const DATABASES = { management: 'loci_control', daemon: 'loci_cell' } as const
/** As install.md calls them. */
const FILES = { management: 'control', daemon: 'cell' } as const
const PROGRAMS = ['management', 'daemon'] as const

export async function setup(call: Call): Promise<Result> {
  const { host } = call
  const folder = folderAt(resolve(host.cwd, call.text('directory') ?? USUAL_FOLDER))
  const chosen = chosenFor(call, folder)
  const adminUrl = administrator(call)
  if (!adminUrl && urlNames().some((name) => folder.read(name) === undefined))
    throw usage('--database-url-file is missing: a file with the address of PostgreSQL for its administrator.')
  if (adminUrl) await requireOwn(folder, adminUrl)
  if (call.has('dry-run')) return planned(folder, chosen, adminUrl)

  const done: { step: string; detail: string }[] = []
  const step = (name: string, detail: string) => {
    host.signal.throwIfAborted()
    done.push({ step: name, detail })
    call.say(`${name.padEnd(14)} ${detail}`)
  }
  makeFolder(folder)
  keepChosen(folder, chosen)
  step('folder', folder.path)
  const made = makeSecrets(folder, adminUrl)
  step('secrets', made.length > 0 ? `made ${made.join(', ')}` : 'all there')
  if (adminUrl) for (const program of PROGRAMS) await prepare(folder, adminUrl, program)
  step('databases', adminUrl ? Object.values(DATABASES).join(' and ') : 'as they are')

  const programs = findPrograms()
  const run = (settings: Settings) => ({ host, programs, settings })
  for (const program of PROGRAMS) {
    await requireLogin(folder, program)
    const file = folder.file(`${FILES[program]}-owner-url`)
    step('schema', `${program}: ${(await runCommand(program, ['migrate'], run(ownerSettings(file)))).trim()}`)
  }
  const management = managementSettings(folder, chosen)
  const organizationId = await makeOrFindOrganization(run(management), {
    email: chosen.ownerEmail,
    name: chosen.organization,
    keyName: 'loci setup',
    key: { read: () => folder.read('api-key'), keep: (text) => void folder.write('api-key', `${text}\n`) },
  })
  step('organization', `${chosen.organization}, ${organizationId}; its API key is in ${folder.file('api-key')}`)
  const cellId = await addOrFindCell(
    run(management),
    { ...chosen, name: chosen.cell, endpoint: chosen.cellUrl },
    publicKey(folder),
  )
  step('cell', `${chosen.cell}, ${cellId}`)

  const daemon = daemonSettings(folder, chosen, cellId)
  for (const [program, settings] of [
    ['management', management],
    ['daemon', daemon],
  ] as const) {
    await runCommand(program, ['--check-config'], run(settings))
    folder.write(`${program}.env`, envText(settings))
    step('settings', folder.file(`${program}.env`))
  }
  const units = PROGRAMS.map((program) => {
    const settings = program === 'management' ? management : daemon
    const name = `${UNITS}/${unitName(program)}`
    folder.write(name, unitText({ program, settings, node: host.node, file: programs.file(program) }))
    return folder.file(name)
  })
  step('units', folder.file(UNITS))
  const closed = [...new Set([host.node, ...PROGRAMS.map(programs.file)].map(closedOnTheWay))].filter(
    (path) => path !== undefined,
  )
  const runs = await Promise.all(listeners(chosen).map(async (one) => ({ ...one, status: await readiness(one) })))
  const starts = PROGRAMS.map((program) => startLine(folder, program, programs.file(program)))
  return {
    data: {
      directory: folder.path,
      organization_id: organizationId,
      cell_id: cellId,
      steps: done,
      start: starts,
      units,
      closed,
      running: runs.map(({ program, status }) => ({ program, ready: status === 200 })),
    },
    lines: [
      ...runs.map(
        ({ program, status, listen }) =>
          `${program} ${status === undefined ? `does not run at ${listen} yet` : status === 200 ? 'runs and is ready: restart it for a new version or new settings' : `answers ${status}`}`,
      ),
      '',
      'Start them with:',
      ...starts.map((line) => `  ${line}`),
      'or, each as a user of its own, by systemd:',
      `  systemctl enable --now ${units.join(' ')}`,
      ...closed.map((path) => `  (not as it is: other users cannot enter ${path}, where Node or the programs are)`),
      '',
      `Back up ${folder.path}, apart from the databases: without the sealing keys they cannot be read.`,
    ],
  }
}

function urlNames(): string[] {
  return PROGRAMS.flatMap((program) => [`${FILES[program]}-url`, `${FILES[program]}-owner-url`])
}

/** What this folder has no passwords for was made by somebody else: new passwords would shut that one out. */
async function requireOwn(folder: Folder, adminUrl: string): Promise<void> {
  for (const program of PROGRAMS) {
    if (folder.read(`${FILES[program]}-url`) !== undefined) continue
    const logins = Object.values(loginsOf(program))
    const known = await Promise.all([
      findDatabases(adminUrl, [DATABASES[program]]),
      findLogins(adminUrl, logins),
    ]).catch((error: Error) => {
      throw new CommandFailure('unavailable', 'LOCI-DATABASE', `PostgreSQL does not answer: ${error.message}`)
    })
    if (known.flat().length > 0)
      throw new CommandFailure(
        'conflict',
        'LOCI-DATABASE',
        `There is ${known.flat().join(', ')} on that server already.`,
        {
          hint: 'loci setup takes nothing over. Name the folder that it was made with (--directory), or use another server.',
        },
      )
  }
}

/** Before the server is told of any password, so that none is lost. Answers with the names of what is new. */
function makeSecrets(folder: Folder, adminUrl: string | undefined): string[] {
  const made: string[] = []
  const keep = (name: string, make: () => string) =>
    folder.keep(name, () => {
      made.push(name)
      return make()
    })
  for (const program of PROGRAMS) {
    keep(
      `${FILES[program]}-sealing-keys`,
      () => `${new Date().toISOString().slice(0, 7)}:${randomBytes(32).toString('base64')}`,
    )
    for (const as of ['app', 'owner'] as const)
      keep(urlName(program, as), () => {
        const passwords = { app: newPassword(), owner: newPassword() }
        return loginUrl(adminUrl as string, { database: DATABASES[program], program, passwords, as })
      })
  }
  // Who moved the token elsewhere keeps the digest that the daemons have.
  if (folder.read('admin-digests') === undefined) {
    const token = keep('admin-token', () => `loci_adm_${randomBytes(32).toString('base64url')}`)
    keep('admin-digests', () => createHash('sha256').update(token).digest('hex'))
  }
  keep('cell-key', () => JSON.stringify(newKeyPair().privateJwk))
  keep('cell-public-key', () => publicKey(folder))
  return made
}

function urlName(program: ProgramName, as: 'app' | 'owner'): string {
  return `${FILES[program]}${as === 'owner' ? '-owner' : ''}-url`
}

function newPassword(): string {
  return randomBytes(24).toString('base64url')
}

function publicKey(folder: Folder): string {
  return (JSON.parse(folder.read('cell-key') as string) as PrivateJwk).x
}

async function prepare(folder: Folder, adminUrl: string, program: DatabaseProgram): Promise<void> {
  const [app, owner] = [passwordOf(folder, program, 'app'), passwordOf(folder, program, 'owner')]
  await prepareDatabase(adminUrl, { database: DATABASES[program], program, passwords: { app, owner } })
}

function passwordOf(folder: Folder, program: ProgramName, as: 'app' | 'owner'): string {
  return passwordIn(folder.read(urlName(program, as)) as string)
}

async function requireLogin(folder: Folder, program: ProgramName): Promise<void> {
  for (const as of ['owner', 'app'] as const) {
    const name = urlName(program, as)
    await readVersion(folder.read(name) as string).catch((error: Error) => {
      throw new CommandFailure(
        'unavailable',
        'LOCI-DATABASE',
        `${folder.file(name)} opens no database: ${error.message}`,
        {
          hint: 'pg_hba.conf of the server must let this login in with its password; --database-url-file makes it anew.',
        },
      )
    })
  }
}

function ownerSettings(file: string): Settings {
  return { LOCI_DATABASE_OWNER_URL_FILE: file }
}

function sharedSettings(folder: Folder, { tlsCert, tlsKey }: Chosen, program: ProgramName): Settings {
  return {
    LOCI_DATABASE_URL_FILE: folder.file(urlName(program, 'app')),
    LOCI_SEALING_KEYS_FILE: folder.file(`${FILES[program]}-sealing-keys`),
    ...(tlsCert && tlsKey ? { LOCI_TLS_CERT_FILE: tlsCert, LOCI_TLS_KEY_FILE: tlsKey } : {}),
  }
}

function managementSettings(folder: Folder, chosen: Chosen): Settings {
  return {
    LOCI_LISTEN: chosen.listen,
    LOCI_PUBLIC_URL: chosen.publicUrl,
    ...sharedSettings(folder, chosen, 'management'),
  }
}

function daemonSettings(folder: Folder, chosen: Chosen, cellId: string): Settings {
  return {
    LOCI_LISTEN: chosen.cellListen,
    LOCI_MANAGEMENT_URL: chosen.publicUrl,
    LOCI_CELL_ID: cellId,
    LOCI_CELL_KEY_FILE: folder.file('cell-key'),
    LOCI_ADMIN_TOKEN_DIGESTS_FILE: folder.file('admin-digests'),
    ...sharedSettings(folder, chosen, 'daemon'),
  }
}

/** For `EnvironmentFile=` of systemd and for `set -a; . file`. */
function envText(settings: Settings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

function startLine(folder: Folder, program: ProgramName, file: string): string {
  return `(set -a; . ${folder.file(`${program}.env`)}; exec node ${file})`
}

function listeners({ listen, cellListen, publicUrl, cellUrl, tlsCert }: Chosen) {
  return [
    { program: 'management' as const, listen, url: publicUrl, tlsCert },
    { program: 'daemon' as const, listen: cellListen, url: cellUrl, tlsCert },
  ]
}

/** What a run would make, by what is there now; nothing is written. */
async function planned(folder: Folder, chosen: Chosen, adminUrl: string | undefined): Promise<Result> {
  const names = [
    ...PROGRAMS.flatMap((program) => [
      `${FILES[program]}-sealing-keys`,
      urlName(program, 'app'),
      urlName(program, 'owner'),
    ]),
    'admin-digests',
    'cell-key',
    'api-key',
    'management.env',
    'daemon.env',
    ...PROGRAMS.map((program) => `${UNITS}/${unitName(program)}`),
  ]
  const databases = adminUrl ? await findDatabases(adminUrl, Object.values(DATABASES)) : Object.values(DATABASES)
  const plan = [
    ...names.map((name) => ({ what: folder.file(name), would: folder.read(name) === undefined ? 'make' : 'keep' })),
    ...Object.values(DATABASES).map((name) => ({
      what: `database ${name}`,
      would: databases.includes(name) ? 'migrate' : 'make',
    })),
    { what: `organization ${chosen.organization}`, would: 'find or make' },
    { what: `cell ${chosen.cell} at ${chosen.cellUrl}`, would: 'find or make' },
  ]
  return {
    data: { dry_run: true, chosen, plan },
    lines: plan.map(({ what, would }) => `would ${would.padEnd(12)} ${what}`),
  }
}
