// What a command knows of the machine that it runs on. main.ts makes the one; nothing else reads the environment.

export interface Host {
  argv: readonly string[]
  env: Readonly<Record<string, string | undefined>>
  cwd: string
  home: string
  platform: NodeJS.Platform
  uid: number | undefined
  version: string
  /** How this very command line is started again: by this Node, with this file. */
  node: string
  script: string
  isTerminal: boolean
  /** Whether somebody sits there who can be asked. */
  canAsk: boolean
  out(text: string): void
  err(text: string): void
  readInput(): Promise<string>
  ask(question: string): Promise<string>
  /** Aborted by Ctrl-C and by SIGTERM. */
  signal: AbortSignal
}
