import { type Command, type Option, USER } from './command.ts'
import { DRY_RUN, YES } from './memory.ts'

const LIMIT: Option = { name: 'limit', value: 'count', summary: 'at most so many' }
const KEY = [{ name: 'key' }]
const CLASS: Option = { name: 'class', value: 'class', summary: 'the kind of task (general)' }
const EVENT: Option = { name: 'event', value: 'id', summary: 'where it comes from: the same one again counts once' }

export const MIND: readonly Command[] = [
  {
    path: 'wm list',
    summary: 'what is in mind now, with its activation',
    options: [USER, { name: 'watch', summary: 'go on as it changes' }],
    run: async (call) => (await import('../commands/mind.ts')).slots(call),
  },
  {
    path: 'wm put',
    summary: 'put something in mind; over capacity another one leaves',
    arguments: [...KEY, { name: 'value' }],
    options: [
      USER,
      { name: 'pin', summary: 'it does not leave by itself' },
      { name: 'salience', value: 'share', summary: 'how much it matters, 0 to 1' },
      { name: 'ttl', value: 'time', summary: 'how long it stays: 90s, 15m, 12h, 30d' },
    ],
    run: async (call) => (await import('../commands/mind.ts')).putSlot(call),
  },
  {
    path: 'wm get',
    summary: 'one slot',
    arguments: KEY,
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).getSlot(call),
  },
  {
    path: 'wm delete',
    summary: 'take a slot out of mind',
    arguments: KEY,
    options: [USER, DRY_RUN, YES],
    run: async (call) => (await import('../commands/mind.ts')).deleteSlot(call),
  },
  {
    path: 'wm stats',
    summary: 'how full it is',
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).slotStats(call),
  },
  {
    path: 'wm evictions',
    summary: 'what left, and why',
    options: [USER, LIMIT],
    run: async (call) => (await import('../commands/mind.ts')).evictions(call),
  },
  {
    path: 'wm clear',
    summary: 'clear all slots that are not pinned; can be taken back for a day',
    options: [USER, { name: 'pinned-too', summary: 'also those that are pinned' }, DRY_RUN, YES],
    run: async (call) => (await import('../commands/mind.ts')).clear(call),
  },
  {
    path: 'wm restore',
    summary: 'take a clear back, by the token that it told',
    arguments: [{ name: 'token' }],
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).restore(call),
  },
  {
    path: 'wm config get',
    summary: 'the configuration in force',
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).readConfig(call, 'wm'),
  },
  {
    path: 'wm config set',
    summary: 'replace the configuration of the user by name=value',
    arguments: [{ name: 'setting' }, { name: 'setting', optional: true }, { name: 'setting', optional: true }],
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).changeConfig(call, 'wm'),
  },
  {
    path: 'cycles run',
    summary: 'take in what was observed, decide what stays in mind, and say why',
    options: [
      USER,
      { name: 'focus', value: 'text', summary: 'what it is about' },
      { name: 'observe', value: 'text', many: true, summary: 'something that was observed' },
      { name: 'observations', value: 'file', summary: 'a file with one observation a line, text or JSON' },
      DRY_RUN,
    ],
    run: async (call) => (await import('../commands/mind.ts')).runCycle(call),
  },
  {
    path: 'cycles list',
    summary: 'cycles, newest first',
    options: [USER, LIMIT, { name: 'since', value: 'time', summary: 'of the last 90s, 15m, 12h, 30d' }],
    run: async (call) => (await import('../commands/mind.ts')).listCycles(call),
  },
  {
    path: 'cycles get',
    summary: 'one cycle and what it decided, with the reasons',
    arguments: [{ name: 'id' }],
    options: [USER, { name: 'waterfall', summary: 'draw when each phase began and how long it took' }],
    run: async (call) => (await import('../commands/mind.ts')).getCycle(call),
  },
  {
    path: 'cycles stats',
    summary: 'how many, how long',
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).cycleStats(call),
  },
  {
    path: 'cycles config get',
    summary: 'the configuration in force',
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).readConfig(call, 'cycles'),
  },
  {
    path: 'cycles config set',
    summary: 'replace the configuration of the user by name=value',
    arguments: [{ name: 'setting' }, { name: 'setting', optional: true }, { name: 'setting', optional: true }],
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).changeConfig(call, 'cycles'),
  },
  {
    path: 'advice rank',
    summary: 'which tools to try for a task, best first',
    arguments: [{ name: 'intent' }],
    options: [
      USER,
      CLASS,
      { name: 'tool', value: 'tool', many: true, summary: 'one that may be chosen' },
      EVENT,
      { name: 'policy', value: 'ref', summary: 'under this policy' },
    ],
    run: async (call) => (await import('../commands/mind.ts')).rankTools(call),
  },
  {
    path: 'advice report',
    summary: 'how a tool did, so that ranking learns',
    arguments: [
      { name: 'tool' },
      { name: 'outcome', choices: ['success', 'failure', 'partial', 'denied', 'cancelled'] },
    ],
    options: [
      USER,
      CLASS,
      { name: 'intent', value: 'text', summary: 'what it was tried for' },
      EVENT,
      { name: 'latency-ms', value: 'ms', summary: 'how long it took' },
      { name: 'error', value: 'code', summary: 'how it failed' },
    ],
    run: async (call) => (await import('../commands/mind.ts')).reportOutcome(call),
  },
  {
    path: 'kv put',
    summary: 'write an entry',
    arguments: [...KEY, { name: 'value' }],
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).putEntry(call),
  },
  {
    path: 'kv get',
    summary: 'read an entry',
    arguments: KEY,
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).getEntry(call),
  },
  {
    path: 'kv list',
    summary: 'entries by key',
    options: [USER, LIMIT],
    run: async (call) => (await import('../commands/mind.ts')).listEntries(call),
  },
  {
    path: 'kv delete',
    summary: 'delete an entry',
    arguments: KEY,
    options: [USER, DRY_RUN, YES],
    run: async (call) => (await import('../commands/mind.ts')).deleteEntry(call),
  },
  {
    path: 'kv health',
    summary: 'writes, reads and deletes a probe',
    options: [USER],
    run: async (call) => (await import('../commands/mind.ts')).kvHealth(call),
  },
  {
    path: 'kv consistency',
    summary: 'whether every entry is what was written',
    options: [USER, { name: 'full', summary: 'from the beginning' }],
    run: async (call) => (await import('../commands/mind.ts')).consistency(call),
  },
]
