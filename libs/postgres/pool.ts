import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { CommitUnknownError } from '@loci/contract/outcomes.ts'
import { isPartitionMissing } from '@loci/contract/store-trouble.ts'
import { current, enter, noteStatement, resume, type Work } from '@loci/meter/meter.ts'
import pg from 'pg'
import { isStatementError, NotCommittedError } from './errors.ts'
import type { Lock } from './lock-order.ts'
import { findServers, type Place, placedClient, type Servers } from './primary.ts'
import { connectTrouble, isBroken, isReadTimeout, unavailable } from './troubles.ts'
import { getTypeParser } from './type-parsers.ts'

export interface Statement {
  name?: string
  text: string
  values?: unknown[]
  /**
   * The locks that it takes and others want too, in their order, those of the functions that it calls among them
   * (lock-order.ts). Asked inside transaction() only, and by tests for every statement.
   */
  locks?: () => readonly Lock[]
}

/** Wakes what waits in this process for news of a topic; others of the cell or the control plane find it by polling. */
export type Wake = (topic: string, ...ids: string[]) => void

/** Whatever can run a statement: the pool, or one client inside transaction(). Store functions take it first. */
export interface Sql {
  query<Row extends object = Record<string, unknown>>(statement: Statement): Promise<{ rows: Row[]; rowCount: number }>
  /**
   * Runs once when what was done before it is committed: at once outside of a transaction. Never for an attempt that
   * was rolled back or is run again, nor when nobody knows whether the commit took effect. It must not wait for
   * anything.
   */
  afterCommit(effect: (wake: Wake) => void): void
}

export interface PoolOptions {
  url: string
  /** The certificate (PEM) of the authority that signed the server's, if it is not a public one. */
  ca?: string
  /** Who knows which server of the url is the primary, for several pools; without it the pool finds out for itself. */
  servers?: Servers
  /** Another server of the url is the primary now. */
  onPrimary?(place: Place, before: Place): void
  applicationName: string
  connectionsMax: number
  /** Bounds both opening a connection and waiting for a free one. */
  connectMs?: number
  /** STATEMENT_MS unless told otherwise; 0 = without end, for migrations. */
  statementMs?: number
  /** Called for broken idle connections, which are replaced, and for failed afterCommit effects. */
  onError(error: Error): void
  /** What effects of a commit can wake. */
  wake?: Wake
  /** Every failure of a statement or of a connection, for who counts them. */
  onFailure?(error: unknown): void
  /** Makes the partitions of now, on a connection of another pool. */
  keepPartitions?(): Promise<void>
  /** Asked on each new connection before anybody has it; where it throws, the connection is closed. */
  verify?(query: <Row extends object>(text: string) => Promise<Row[]>): Promise<void>
}

export interface Pool extends Sql {
  /** For who needs one session for several statements: whoever takes it must release it, in a finally. */
  client(): Promise<Client>
  /**
   * Whether the error was a missing partition and it was tried to make it: what failed took no effect, and may succeed
   * when it is done again. Missing after a restore of an old backup, a pause of a day or a step of the clock.
   */
  hasMended(error: unknown): Promise<boolean>
  close(): Promise<void>
  counts(): { total: number; idle: number; waiting: number }
}

/** A session. Nobody here knows when it commits: it drops effects, and what they would have woken polls. */
export interface Client extends Sql {
  release(broken?: Error): void
}

const LIFETIME_MS = 30 * 60_000
const CLOSE_MS_MAX = 3_000
/**
 * How long a statement may run unless LOCI_DATABASE_STATEMENT_MS says otherwise. With the silence after it and the
 * second in which a connection is had it stays below the 3.5 s within which a store that is away is told.
 */
const STATEMENT_MS = 1_750
const CONNECT_MS = 1_000
/**
 * Added to the server's own limit: only a server that we cannot hear any more is later than that. The server's refusal
 * needs a round trip to arrive. With 250 ms a statement that ran into its limit on a server 300 ms away was taken for
 * silence: a write ended as OUTCOME_UNKNOWN, and all idle connections were replaced.
 */
const SILENCE_MS = 500
/**
 * How long a lock is waited for within STATEMENT_MS. Must stay above the server's deadlock_timeout (1 s): at exactly
 * 1 s both fire together and a deadlock is reported as a lock timeout, which transaction() does not retry.
 */
const LOCK_MS = 1_250
const IN_TRANSACTION_IDLE_MS_MAX = 5_000

interface Health {
  /** When the server last answered on this connection. */
  provenAt: number
  retireAt: number
  failure?: Error
  unreplicated: boolean
  /** Whose statement runs on it. */
  work: Work | undefined
  receivedBytes: number
  /** Of the statement, until something came back for it. */
  sentBytes: number
}

/** For the pools of one program, which differ in their name and size. */
export function poolOpener(
  settings: { databaseUrl: string; databaseCa: string | undefined; databaseStatementMs: number },
  shared: Pick<PoolOptions, 'onError' | 'wake' | 'onFailure' | 'keepPartitions' | 'onPrimary'>,
): (applicationName: string, connectionsMax: number, own?: Pick<PoolOptions, 'verify'>) => Pool {
  const { databaseUrl: url, databaseCa: ca, databaseStatementMs: statementMs } = settings
  const to = { url, ...(ca ? { ca } : {}) }
  // Statements that may take longer keep their connections busy as long, so a connection is waited for longer too.
  const patience = { statementMs, connectMs: Math.max(CONNECT_MS, statementMs / 2) }
  const servers = findServers(to, shared.onPrimary)
  return (applicationName, connectionsMax, own) =>
    openPool({ ...to, ...patience, servers, applicationName, connectionsMax, ...shared, ...own })
}

export function openPool(options: PoolOptions): Pool {
  const { connectMs = CONNECT_MS, statementMs = STATEMENT_MS } = options
  const servers = options.servers ?? findServers(options, options.onPrimary)
  const placeOf = new WeakMap<object, Place>()
  const connections = new pg.Pool({
    ...connectionOptions(options, servers, connectMs, statementMs),
    ...verifying(options),
    Client: placedClient(servers, options.ca, placeOf),
  })
  const healthOf = new WeakMap<pg.PoolClient, Health>()
  const lentOut = new Set<Client>()
  const borrowed = new Set<pg.PoolClient>()
  let suspectedAt = Number.NEGATIVE_INFINITY
  let closing: Promise<void> | undefined
  // What still runs on a server that is no longer the primary must not be answered from there.
  const leave = servers.join((now) => {
    for (const connection of borrowed) {
      if (placeOf.get(connection) === now) continue
      requireHealth(connection).failure ??= unavailable(`the primary of PostgreSQL is another server now: ${now.name}`)
      streamOf(connection).destroy()
    }
  })

  connections.on('error', (error) => options.onError(error))
  connections.on('connect', (connection) => {
    // Spread, so that connections that were opened together are not all replaced together.
    const retireAt = performance.now() + LIFETIME_MS * (0.8 + 0.4 * Math.random())
    const provenAt = performance.now()
    const health: Health = { provenAt, retireAt, unreplicated: false, work: undefined, receivedBytes: 0, sentBytes: 0 }
    healthOf.set(connection, health)
    // Before the driver parses what came: that is work for whoever asked.
    streamOf(connection).prependListener('data', (chunk: Buffer) => {
      enter(health.work, chunk.length + health.sentBytes)
      health.sentBytes = 0
      health.receivedBytes += chunk.length
    })
    // Without a listener an error between two statements would end the process.
    connection.on('error', (error) => {
      health.failure ??= unavailable('the connection to Postgres broke', error)
    })
    // When somebody cancels the wait for a synchronous standby (pg_cancel_backend), Postgres answers "done" with a
    // mere warning, although the write is lost if the primary now dies. The name of the C function is the only part
    // of that warning that is not translated. statement_timeout does not count the wait: there we run into silence.
    connection.on('notice', (notice) => {
      if (notice.routine === 'SyncRepWaitForLSN') health.unreplicated = true
    })
  })

  const run = async <Row extends object>(connection: pg.PoolClient, health: Health, statement: Statement) => {
    if (health.failure) throw health.failure
    health.unreplicated = false
    const work = current()
    health.work = work
    health.receivedBytes = 0
    const sentBefore = work ? streamOf(connection).bytesWritten : 0
    let sent = 0
    let answer: pg.QueryResult<Row> | undefined
    try {
      const asked = connection.query<Row>(statement as pg.QueryConfig)
      sent = work ? streamOf(connection).bytesWritten - sentBefore : 0
      health.sentBytes = sent
      answer = lastOf(await asked)
    } catch (error) {
      options.onFailure?.(error)
      if (!isStatementError(error)) throw dropped(health, error)
      health.provenAt = performance.now()
      throw error
    } finally {
      health.work = undefined
      if (work) {
        resume()
        const writes = statement.locks !== undefined
        noteStatement(work, { sent, received: health.receivedBytes, rows: answer?.rowCount ?? 0, writes })
      }
    }
    health.provenAt = performance.now()
    if (health.unreplicated) {
      throw new CommitUnknownError('committed on the primary, but no standby confirmed it: check the replication')
    }
    if (answer.command === 'ROLLBACK' && /^\s*commit/i.test(statement.text)) {
      throw new NotCommittedError('nothing was committed: a statement before had failed and its error was swallowed')
    }
    return { rows: answer.rows, rowCount: answer.rowCount ?? 0 }
  }

  // An answer may still be on its way, so the connection is never used again.
  const dropped = (health: Health, error: unknown): Error => {
    let told = error as Error
    if (isReadTimeout(error)) {
      suspectedAt = performance.now()
      const waitedMs = statementMs + SILENCE_MS
      told = unavailable(`PostgreSQL gave no answer within ${waitedMs} ms; the connection was dropped`, error)
    } else if (isBroken(error)) {
      told = unavailable('the connection to Postgres broke during a statement', error)
    }
    health.failure ??= told
    return told
  }

  const requireHealth = (connection: pg.PoolClient): Health => {
    const health = healthOf.get(connection)
    assert(health, 'pg-pool announces every connection before it lends it')
    return health
  }

  const take = async (): Promise<pg.PoolClient> => {
    for (;;) {
      if (!servers.proven())
        await servers.find().catch((error) => {
          options.onFailure?.(error)
          throw error
        })
      const connection = await connections.connect().catch((error) => {
        options.onFailure?.(error)
        throw isBroken(error) ? unavailable(connectTrouble(error), error) : error
      })
      // After one connection fell silent the idle ones are probably as dead. Each would cost its next user the whole
      // deadline before it is found out, so those that have not answered since are replaced first.
      const isCurrent = placeOf.get(connection) === servers.proven()
      if (isCurrent && requireHealth(connection).provenAt >= suspectedAt) return connection
      connection.release(true)
    }
  }

  const lend = (connection: pg.PoolClient): Client => {
    const health = requireHealth(connection)
    let released = false
    let running = 0
    const client: Client = {
      async query<Row extends object>(statement: Statement) {
        if (released)
          throw new Error('this client was given back: keep statements inside the transaction they belong to')
        running += 1
        try {
          return await run<Row>(connection, health, statement)
        } finally {
          running -= 1
        }
      },
      afterCommit() {},
      release(broken) {
        if (released) return
        released = true
        lentOut.delete(client)
        borrowed.delete(connection)
        // A connection in an open transaction, or with an answer outstanding, would hand both to its next user.
        const unclean = running > 0 || connection.getTransactionStatus() !== 'I'
        connection.release(broken ?? health.failure ?? (unclean || performance.now() > health.retireAt))
      },
    }
    lentOut.add(client)
    borrowed.add(connection)
    return client
  }

  const client = async () => lend(await take())

  const once = async <Row extends object>(statement: Statement) => {
    const lent = await client()
    try {
      return await lent.query<Row>(statement)
    } finally {
      lent.release()
    }
  }

  // One call for all who meet the same gap; those that failed before it had ended share it.
  let mending: Promise<void> | undefined
  const hasMended = async (error: unknown): Promise<boolean> => {
    if (!options.keepPartitions || !isPartitionMissing(error)) return false
    // One table of several that could not be had says nothing about the others: the repeat finds out.
    mending ??= options
      .keepPartitions()
      .catch(options.onError)
      .finally(() => {
        mending = undefined
      })
    await mending
    return true
  }

  return {
    client,
    hasMended,
    query: <Row extends object>(statement: Statement) =>
      once<Row>(statement).catch(async (error) => {
        if (await hasMended(error)) return once<Row>(statement)
        throw error
      }),
    afterCommit(effect) {
      try {
        effect(options.wake ?? (() => {}))
      } catch (error) {
        // What is committed must not be answered as a failure.
        options.onError(error as Error)
      }
    },
    counts: () => ({
      total: connections.totalCount,
      idle: connections.idleCount,
      waiting: connections.waitingCount,
    }),
    close() {
      closing ??= (async () => {
        const impatient = setTimeout(() => {
          for (const lent of lentOut) lent.release(new Error('the pool was closed'))
        }, CLOSE_MS_MAX)
        await connections.end()
        clearTimeout(impatient)
        await leave()
      })()
      return closing
    },
  }
}

/** Of the connection as it is once it is lent: where it is encrypted, the encrypted one. */
function streamOf(connection: pg.PoolClient): Socket {
  return (connection as unknown as { connection: { stream: Socket } }).connection.stream
}

function verifying({ verify }: PoolOptions): object {
  if (!verify) return {}
  return {
    verify(connection: pg.PoolClient, done: (error?: Error) => void) {
      const query = async <Row extends object>(text: string) => (await connection.query<Row>(text)).rows
      verify(query).then(() => done(), done)
    },
  }
}

function connectionOptions(
  options: PoolOptions,
  servers: Servers,
  connectMs: number,
  statementMs: number,
): pg.PoolConfig {
  const { to } = servers.last()
  return {
    user: to.user,
    database: to.database,
    application_name: options.applicationName,
    max: options.connectionsMax,
    connectionTimeoutMillis: connectMs,
    ...(statementMs > 0 && { statement_timeout: statementMs, query_timeout: statementMs + SILENCE_MS }),
    lock_timeout: Math.max(LOCK_MS, statementMs - (STATEMENT_MS - LOCK_MS)),
    idle_in_transaction_session_timeout: IN_TRANSACTION_IDLE_MS_MAX,
    // Compiling a statement pays for seconds of work, and ours are milliseconds. Where a function forbids scans and
    // there is no other way, the forbidding price has every call compiled: .3 s of a core, seconds on a busy machine.
    options: '-c jit=off',
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
    idleTimeoutMillis: 30_000,
    // The spread is made at release; this is the end for a connection that never comes back.
    maxLifetimeSeconds: (1.5 * LIFETIME_MS) / 1_000,
    allowExitOnIdle: false,
    types: { getTypeParser },
  }
}

// A text of several statements without values answers with a list.
function lastOf<Row extends object>(answer: pg.QueryResult<Row>): pg.QueryResult<Row> {
  return Array.isArray(answer) ? (answer.at(-1) as pg.QueryResult<Row>) : answer
}
