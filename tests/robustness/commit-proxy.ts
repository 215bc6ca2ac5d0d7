// Stands between a program and PostgreSQL. Once armed, each connection goes silent in the moment at which it commits:
// the server gets the commit, carries it out and answers, and the program never hears of it. Connections that commit
// nothing are not touched.

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CommitProxy {
  port: number
  /** Lets so many commits through, whoever makes them, and swallows the answers to all that come after. */
  arm(skip: number): void
  disarm(): void
  close(): void
}

interface Session {
  inTransaction: boolean
  isSilent: boolean
}

// Messages of the protocol: Q is a simple query; a named statement is bound to the portal without a name.
const BEGIN = /Q[\s\S]{4}begin/i
const END = /Q[\s\S]{4}(commit|rollback)\0/i
const COMMIT = /Q[\s\S]{4}commit\0/i
/** The statements of requests that commit by themselves: execute() in the stores of both programs. */
const WRITE =
  /\0(kv_write|kv_write_acts|wm_commit|wm_commit_acts|mem_write_acts|mem_index_commit|mem_drop_segments|mem_expiry_next|cycle_commit|cycle_failed|cycle_quarantine|prj_write|advice_save|sessions_claim|sessions_save_refresh|sessions_keep_refresh_token|sessions_give_up_refresh|sessions_end|sessions_forget_tokens|cli_logins_insert)\0/

export async function startCommitProxy(target: () => number): Promise<CommitProxy> {
  const sockets = new Set<Socket>()
  let isArmed = false
  let left = 0

  function commits(session: Session, text: string): boolean {
    const isCommit = COMMIT.test(text) || (!session.inTransaction && WRITE.test(text))
    if (END.test(text)) session.inTransaction = false
    else if (BEGIN.test(text)) session.inTransaction = true
    return isCommit
  }

  const server = createServer((client) => {
    const session: Session = { inTransaction: false, isSilent: false }
    const upstream = connect({ port: target(), host: '127.0.0.1', noDelay: true })
    client.setNoDelay(true)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    client.on('data', (bytes) => {
      if (commits(session, bytes.toString('latin1')) && isArmed) {
        if (left > 0) left -= 1
        else session.isSilent = true
      }
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (!session.isSilent) client.write(bytes)
    })
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => {
      if (!session.isSilent) client.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    arm(skip) {
      isArmed = true
      left = skip
    },
    disarm() {
      isArmed = false
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
