import { type Command, USER } from './command.ts'
import { DRY_RUN } from './memory.ts'

const SHELLS = ['bash', 'zsh', 'fish', 'powershell'] as const

export const TOOLS: readonly Command[] = [
  {
    path: 'mcp',
    summary: 'the tools of loci for an agent, over standard input and output',
    options: [USER],
    streams: true,
    hearsSignal: true,
    run: async (call) => (await import('../commands/mcp.ts')).serve(call),
  },
  {
    path: 'mcp install',
    summary: 'add loci to a client of the Model Context Protocol; no secret stands in its file',
    arguments: [{ name: 'client', choices: ['claude-code', 'claude-desktop', 'cursor', 'vscode', 'codex'] }],
    options: [
      USER,
      { name: 'http', value: 'url', summary: 'over HTTP; the client asks its environment for the token' },
      DRY_RUN,
    ],
    run: async (call) => (await import('../commands/mcp.ts')).install(call),
  },
  {
    path: 'mcp tools',
    summary: 'what an agent would see',
    options: [USER],
    run: async (call) => (await import('../commands/mcp.ts')).tools(call),
  },
  {
    path: 'doctor',
    summary: 'twelve checks, each with what to do',
    options: [{ name: 'data', value: 'directory', summary: 'of loci up (LOCI_UP_DATA)' }],
    run: async (call) => (await import('../commands/doctor.ts')).doctor(call),
  },
  {
    path: 'completion',
    summary: 'completion of words for a shell',
    arguments: [{ name: 'shell', choices: SHELLS }],
    options: [{ name: 'install', summary: 'write it where the shell looks' }],
    run: async (call) => (await import('../commands/completion.ts')).script(call),
  },
]
