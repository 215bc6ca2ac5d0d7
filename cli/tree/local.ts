// The commands of the local stack. What they do is loaded when one of them runs: --help needs none of it.

import type { Command, Option } from './command.ts'

const DATA: Option = { name: 'data', value: 'directory', summary: 'where everything is kept (LOCI_UP_DATA)' }

export const LOCAL: readonly Command[] = [
  {
    path: 'up',
    summary: 'start a whole loci on this machine, or say that it runs',
    hearsSignal: true,
    options: [
      { name: 'detach', short: 'd', summary: 'run in the background' },
      { name: 'port', value: 'port', summary: 'of management; the daemon has it + 10, sign-in + 20 (4400)' },
      {
        name: 'listen',
        value: 'address',
        summary:
          'listen there instead of on 127.0.0.1, without TLS: for a container whose ports are published on loopback',
      },
      DATA,
      { name: 'fresh', summary: 'erase everything and begin anew; asks first' },
      { name: 'yes', summary: 'do not ask' },
      { name: 'seed', value: 'sample', choices: ['demo'], summary: 'with an hour of a support agent to look at' },
      { name: 'print-key', summary: 'show the API key too' },
      { name: 'print-key-once', summary: 'for a container: show it unless a start before did', hidden: true },
      { name: 'no-encoder', summary: 'recall by words alone, from now on' },
      { name: 'encoder', value: 'directory', summary: 'a folder that npm run encoder made; from now on' },
      {
        name: 'database-url-file',
        value: 'file',
        summary: 'a file with the address of a PostgreSQL of your own, as its administrator',
      },
      { name: 'database-url', value: 'url', summary: 'the same as text: others may see it among the arguments' },
      { name: 'supervised', summary: 'the part of -d that stays', hidden: true },
    ],
    run: async (call) => (await import('../up/up.ts')).up(call),
  },
  {
    path: 'up code',
    summary: 'print a code to sign in with, good once and for ten minutes',
    options: [DATA],
    run: async (call) => (await import('../up/up.ts')).signInCode(call),
  },
  {
    path: 'setup',
    summary: 'prepare a loci for others: databases, logins, keys, the first organization and cell; again it keeps them',
    options: [
      { name: 'directory', value: 'directory', summary: 'where secrets and settings are kept (/etc/loci)' },
      {
        name: 'database-url-file',
        value: 'file',
        summary: 'a file with the address of PostgreSQL for its administrator; at the first run',
      },
      { name: 'owner-email', value: 'address', summary: 'who owns the first organization; at the first run' },
      { name: 'organization', value: 'name', summary: 'what it is called (default)' },
      { name: 'public-url', value: 'url', summary: 'where people and cells reach management (http://127.0.0.1:4400)' },
      { name: 'listen', value: 'address', summary: 'where management listens (127.0.0.1:4400)' },
      { name: 'cell', value: 'name', summary: 'what the first cell is called (cell-1)' },
      { name: 'cell-url', value: 'url', summary: 'where agents reach it (http://127.0.0.1:4410)' },
      { name: 'cell-listen', value: 'address', summary: 'where its daemon listens (127.0.0.1:4410)' },
      { name: 'region', value: 'region', summary: 'of the cell (us-east-1)' },
      { name: 'capacity', value: 'count', summary: 'how many services it may hold (1000)' },
      { name: 'tls-cert', value: 'file', summary: 'the certificate of both programs' },
      { name: 'tls-key', value: 'file', summary: 'its key' },
      { name: 'dry-run', summary: 'only say what it would do' },
    ],
    run: async (call) => (await import('../setup/setup.ts')).setup(call),
  },
  {
    path: 'backup check',
    summary: 'whether what is written could be restored: WAL, backups, erasures that management knows',
    options: [
      {
        name: 'database-url-file',
        value: 'file',
        summary: 'a file with the address of the database for its administrator',
      },
      { name: 'stanza', value: 'name', summary: 'of pgBackRest; without it backups are not looked at' },
      { name: 'pgbackrest-config', value: 'file', summary: 'another one than /etc/pgbackrest.conf' },
      { name: 'max-age-hours', value: 'hours', summary: 'how old the last backup may be (26)' },
    ],
    run: async (call) => (await import('../backup/check.ts')).checkBackup(call),
  },
  {
    path: 'down',
    summary: 'stop it; the data stays',
    options: [DATA],
    run: async (call) => (await import('../up/up.ts')).down(call),
  },
  {
    path: 'status',
    summary: 'what runs, and how it is',
    options: [{ name: 'watch', summary: 'go on as it changes' }, DATA],
    hearsSignal: true,
    run: async (call) => (await import('../up/look.ts')).status(call),
  },
  {
    path: 'logs',
    summary: 'the end of a log',
    arguments: [{ name: 'part', optional: true, choices: ['up', 'management', 'daemon', 'postgres'] }],
    options: [
      { name: 'follow', short: 'f', summary: 'go on as it grows' },
      { name: 'lines', value: 'count', summary: 'how many (50)' },
      DATA,
    ],
    run: async (call) => (await import('../up/look.ts')).logs(call),
  },
]
