import { type Command, USER } from './command.ts'
import { DRY_RUN } from './memory.ts'

/** In cli/import there is one of each; what they read is loaded when one runs. */
const KINDS = ['mem0', 'ams', 'langgraph', 'letta', 'chatgpt', 'claude', 'ndjson'] as const

export const IMPORT: readonly Command[] = [
  {
    path: 'import',
    summary: 'take over memories of another product or of an export; again it stores nothing twice',
    arguments: [{ name: 'kind', choices: KINDS }, { name: 'source' }],
    options: [
      USER,
      {
        name: 'users-from',
        value: 'field',
        many: true,
        summary: 'whose a thing is, such as agent_id, namespace.1 or metadata.customer; the first that it has',
      },
      { name: 'key-file', value: 'file', summary: 'the key of the source, where it is an address' },
      DRY_RUN,
    ],
    hearsSignal: true,
    run: async (call) => (await import('../commands/import.ts')).importFrom(call),
  },
]
