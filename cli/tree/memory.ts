import { type Command, type Option, USER } from './command.ts'

const LIMIT: Option = { name: 'limit', short: 'k', value: 'count', summary: 'at most so many' }
export const YES: Option = { name: 'yes', summary: 'do not ask' }
export const DRY_RUN: Option = { name: 'dry-run', summary: 'only say what it would do' }

export const MEMORY: readonly Command[] = [
  {
    path: 'memory store',
    summary: 'remember a text; on disk and recallable when it returns',
    arguments: [{ name: 'text', optional: true }],
    options: [
      USER,
      { name: 'tag', value: 'tag', many: true, summary: 'a tag' },
      { name: 'meta', value: 'name=value', many: true, summary: 'a field of its own' },
      { name: 'key', value: 'key', summary: 'what it is about: replaces what was said under it before' },
      { name: 'kind', value: 'kind', summary: 'what kind of memory it is' },
      { name: 'source', value: 'id', summary: 'where it comes from: the same one again is stored once' },
      { name: 'ttl', value: 'time', summary: 'how long it is kept: 90s, 15m, 12h, 30d' },
      { name: 'file', value: 'file', summary: 'read the text from a file' },
    ],
    run: async (call) => (await import('../commands/memory.ts')).store(call),
  },
  {
    path: 'memory recall',
    summary: 'what answers a question, best first',
    arguments: [{ name: 'question' }],
    options: [
      USER,
      LIMIT,
      { name: 'why', summary: 'say why each was found, or what was nearest' },
      { name: 'tag', value: 'tag', many: true, summary: 'only those with this tag' },
      { name: 'expect', value: 'id', many: true, summary: 'where this memory stands, also if it is not among them' },
      { name: 'min-relevance', value: 'share', summary: 'only those at least so relevant, 0 to 1' },
    ],
    run: async (call) => (await import('../commands/memory.ts')).recall(call),
  },
  {
    path: 'memory get',
    summary: 'one memory with everything that is known of it',
    arguments: [{ name: 'id' }],
    options: [USER],
    run: async (call) => (await import('../commands/memory.ts')).get(call),
  },
  {
    path: 'memory list',
    summary: 'memories, newest first',
    options: [USER, LIMIT],
    run: async (call) => (await import('../commands/memory.ts')).list(call),
  },
  {
    path: 'memory forget',
    summary: 'erase a memory wherever it stands, with a receipt',
    arguments: [{ name: 'id' }],
    options: [USER, DRY_RUN, YES],
    run: async (call) => (await import('../commands/memory.ts')).forget(call),
  },
  {
    path: 'people list',
    summary: 'of whom something is kept, and how much',
    options: [LIMIT],
    run: async (call) => (await import('../commands/memory.ts')).people(call),
  },
  {
    path: 'people forget',
    summary: 'erase everything of a person',
    arguments: [{ name: 'user' }],
    options: [DRY_RUN, YES],
    run: async (call) => (await import('../commands/memory.ts')).forgetPerson(call),
  },
]
