import type { Command, Option } from './command.ts'
import { DRY_RUN, YES } from './memory.ts'

const SCOPE: Option = { name: 'scope', value: 'right', many: true, summary: 'what it may do, such as memory:read' }
const USERS: Option = { name: 'user', value: 'name', many: true, summary: 'of whom; all unless told' }
const TTL: Option = { name: 'ttl', value: 'time', summary: 'how long it is good: 15m, 12h, 90d' }
const ID = [{ name: 'id' }]
const ADMIN: Option = { name: 'admin-token-file', value: 'file', summary: 'the admin token of the cell' }
const LIMIT: Option = { name: 'limit', value: 'count', summary: 'at most so many' }

export const CREDENTIALS: readonly Command[] = [
  {
    path: 'login',
    summary: 'sign in: a person approves this command line in a browser, on any machine',
    options: [
      { name: 'no-browser', summary: 'open nothing' },
      { name: 'token-stdin', summary: 'read an API key from standard input' },
    ],
    run: async (call) => (await import('../commands/login.ts')).login(call),
  },
  {
    path: 'logout',
    summary: 'remove the key from this machine',
    run: async (call) => (await import('../commands/login.ts')).logout(call),
  },
  {
    path: 'whoami',
    summary: 'which loci, which organization',
    run: async (call) => (await import('../commands/login.ts')).whoami(call),
  },
  {
    path: 'tokens list',
    summary: 'capabilities of the service, newest first, never their text',
    options: [LIMIT],
    run: async (call) => (await import('../commands/credentials.ts')).listTokens(call),
  },
  {
    path: 'tokens create',
    summary: 'a capability for somebody else; shown once',
    options: [
      { name: 'name', value: 'name', summary: 'what it is for' },
      SCOPE,
      USERS,
      TTL,
      { name: 'depth', value: 'links', summary: 'how often its holder may narrow it' },
    ],
    run: async (call) => (await import('../commands/credentials.ts')).createToken(call),
  },
  {
    path: 'tokens attenuate',
    summary: 'narrow a delegation, offline',
    options: [
      { name: 'delegation-file', value: 'file', summary: 'its JSON; else on standard input' },
      SCOPE,
      USERS,
      TTL,
    ],
    run: async (call) => (await import('../commands/credentials.ts')).attenuateToken(call),
  },
  {
    path: 'tokens revoke',
    summary: 'end a capability and what was made from it',
    arguments: ID,
    options: [DRY_RUN, YES],
    run: async (call) => (await import('../commands/credentials.ts')).revokeToken(call),
  },
  {
    path: 'tokens inspect',
    summary: 'what a capability says of itself; - reads it from standard input',
    arguments: [{ name: 'token' }],
    run: async (call) => (await import('../commands/credentials.ts')).inspectToken(call),
  },
  {
    path: 'keys list',
    summary: 'API keys of the organization',
    run: async (call) => (await import('../commands/credentials.ts')).listKeys(call),
  },
  {
    path: 'keys create',
    summary: 'a new API key; shown once',
    arguments: [{ name: 'name' }],
    options: [SCOPE, TTL],
    run: async (call) => (await import('../commands/credentials.ts')).createKey(call),
  },
  {
    path: 'keys rotate',
    summary: 'a new secret for a key; shown once',
    arguments: ID,
    options: [{ name: 'grace', value: 'time', summary: 'how long the old one stays good' }],
    run: async (call) => (await import('../commands/credentials.ts')).rotateKey(call),
  },
  {
    path: 'keys revoke',
    summary: 'end an API key',
    arguments: ID,
    options: [DRY_RUN, YES],
    run: async (call) => (await import('../commands/credentials.ts')).revokeKey(call),
  },
  {
    path: 'admin services status',
    summary: 'the switches of the cell',
    options: [ADMIN],
    run: async (call) => (await import('../commands/credentials.ts')).adminStatus(call),
  },
  {
    path: 'admin services enable',
    summary: 'switch a part on in the whole cell',
    arguments: [{ name: 'part' }],
    options: [ADMIN, { name: 'reason', value: 'text', summary: 'why' }, DRY_RUN],
    run: async (call) => (await import('../commands/credentials.ts')).adminSwitch(call, 'enable'),
  },
  {
    path: 'admin services disable',
    summary: 'switch a part off in the whole cell',
    arguments: [{ name: 'part' }],
    options: [ADMIN, { name: 'reason', value: 'text', summary: 'why' }, DRY_RUN, YES],
    run: async (call) => (await import('../commands/credentials.ts')).adminSwitch(call, 'disable'),
  },
  {
    path: 'api',
    summary: 'any call of management, or with /v1/… of the service',
    arguments: [{ name: 'method' }, { name: 'path' }],
    options: [
      { name: 'data', short: 'd', value: 'json', summary: 'the body; - reads it from standard input' },
      { name: 'query', short: 'q', value: 'name=value', many: true, summary: 'a field of the query' },
      { name: 'user', value: 'name', summary: 'whose memory: a database of the service' },
    ],
    run: async (call) => (await import('../commands/credentials.ts')).api(call),
  },
]
