// Which server of a URL with several is the primary. Each is asked once a second. A server is used while its word is at
// most PROVEN_MS old, and never one of a timeline before the newest that was seen: a primary that was stopped while
// another was promoted, and goes on, must not answer from what it had. Who was promoted is used PROVEN_MS later, when
// no process can use the one before any more: behind a PgBouncer of its own that one may be a standby by now, and goes
// on to answer on connections that were open.

import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import pg from 'pg'
import { type ConnectionUrl, serversOf, tlsOf } from './connection-url.ts'
import { PRIMARY_TIMELINE } from './life.ts'
import { isBroken, unavailable } from './troubles.ts'

export interface Place {
  to: ConnectionUrl
  /** Host and port, for messages. */
  name: string
  /** 0: not asked yet. */
  timeline: number
  /** Through a PgBouncer. */
  isPooled: boolean
}

export interface Servers {
  /** The primary, if it has said within PROVEN_MS that it is; of a URL with one server always that one. */
  proven(): Place | undefined
  /** As it was last known; the first of the URL before any has answered. */
  last(): Place
  /** Asks all of them now. */
  find(): Promise<void>
  /** `onChange`: another is the primary. Asking goes on until everybody has left. */
  join(onChange: (now: Place) => void): () => Promise<void>
}

interface Said {
  system: string
  /** Null: a standby. */
  timeline: number | null
  /** Of the server's process; a PgBouncer tells another one at the login. */
  pid: number
  /** It was promoted longer ago than any word about another holds. */
  isSettled: boolean
}

type Answer = { place: Place } & ({ said: Said } | { error: unknown })

const BEAT_MS = 1_000
const ANSWER_MS = 1_000
/**
 * Several beats, so that one late answer costs nothing; well below the time after which another may be promoted (20 s
 * with Patroni's `ttl` of deploy/patroni).
 */
const PROVEN_MS = 4_000

// The control file learns a timeline with the first checkpoint on it, which comes with the promotion.
const ASK = `select (select system_identifier::text from pg_control_system()) as system, ${PRIMARY_TIMELINE} as timeline, pg_backend_pid() as pid,
  (select timeline_id = 1 or (timeline_id = ${PRIMARY_TIMELINE} and checkpoint_time < now() - interval '${PROVEN_MS} ms')
    from pg_control_checkpoint()) as "isSettled"`

export function findServers(
  { url, ca }: { url: string; ca?: string },
  onPrimary?: (now: Place, before: Place) => void,
  beatMs = BEAT_MS,
): Servers {
  const places = serversOf(url).map(
    (to): Place => ({ to, name: `${to.host}:${to.port}`, timeline: 0, isPooled: false }),
  )
  const [first] = places as [Place]
  if (places.length === 1)
    return { proven: () => first, last: () => first, find: async () => {}, join: () => async () => {} }

  const watchers = places.map((place) => ({ place, ...watch(place, ca) }))
  const members = new Set<(now: Place) => void>()
  let current = first
  let provenAt = Number.NEGATIVE_INFINITY
  let newest = { system: '', timeline: 0 }
  let promotedAt = 0
  let looking: Promise<void> | undefined
  let beat: NodeJS.Timeout | undefined

  const look = async (): Promise<void> => {
    const askedAt = performance.now()
    const answers = await Promise.all(
      watchers.map(async ({ place, ask }): Promise<Answer> => {
        try {
          return { place, said: await ask() }
        } catch (error) {
          return { place, error }
        }
      }),
    )
    // It has said itself that it leads no more: its old word does not hold for the rest of its time.
    const own = answers.find(({ place }) => place.to === current.to)
    if (own && 'said' in own && own.said.timeline === null) provenAt = Number.NEGATIVE_INFINITY
    const found = primaryOf(answers, newest)
    newest = found
    if (found.place.to !== current.to || found.timeline !== current.timeline) {
      const before = current
      current = { ...found.place, timeline: found.timeline }
      promotedAt = found.isSettled ? Number.NEGATIVE_INFINITY : performance.now()
      for (const onChange of members) onChange(current)
      if (before.timeline > 0) onPrimary?.(current, before)
      // Who has just started has nothing to tell its callers yet.
      else if (!found.isSettled) await sleep(PROVEN_MS)
    }
    if (performance.now() - promotedAt < PROVEN_MS) {
      provenAt = Number.NEGATIVE_INFINITY
      throw unavailable(
        `${current.name} is the primary of PostgreSQL since a moment: others may still read from the one before`,
      )
    }
    provenAt = askedAt
  }
  const find = (): Promise<void> => {
    looking ??= look().finally(() => {
      looking = undefined
    })
    return looking
  }
  const keepLooking = (): void => {
    beat = setTimeout(async () => {
      // Who needs a server asks again, and is told why there is none.
      await find().catch(() => {})
      if (members.size > 0) keepLooking()
    }, beatMs)
  }
  return {
    proven: () => (performance.now() - provenAt <= PROVEN_MS ? current : undefined),
    last: () => current,
    find,
    join(onChange) {
      members.add(onChange)
      if (members.size === 1) keepLooking()
      return async () => {
        members.delete(onChange)
        if (members.size > 0) return
        clearTimeout(beat)
        await looking?.catch(() => {})
        await Promise.all(watchers.map(({ close }) => close()))
      }
    },
  }
}

/**
 * Behind a PgBouncer a connection outlives its PostgreSQL, which may come back as a standby with commits that no other
 * server has: a creation was acknowledged from one, and lost. So the connection says that its server is none. With the
 * setting `track_extra_parameters = in_hot_standby` PgBouncer compares this before each transaction, tries to set what
 * differs, which PostgreSQL refuses, and ends the connection before anything was read (08P01).
 */
const NO_STANDBY = { in_hot_standby: 'off' }

/** Tells PgBouncer so, where there is one. The driver has no option for it; PostgreSQL itself refuses such a login. */
export class Client extends pg.Client {
  constructor(config: pg.ClientConfig, isPooled: boolean) {
    super(config)
    if (!isPooled) return
    const driver = this as unknown as { getStartupConf(): object }
    const usual = driver.getStartupConf.bind(this)
    driver.getStartupConf = () => ({ ...usual(), ...NO_STANDBY })
  }
}

/** Each connection goes to the server that is the primary when it is opened. */
export function placedClient(servers: Servers, ca: string | undefined, placeOf: WeakMap<object, Place>) {
  return class extends Client {
    constructor(config?: pg.ClientConfig) {
      const place = servers.last()
      const { host, port, password } = place.to
      // The pool hides the password from whoever lists its options, and so from a copy of them.
      super(
        { ...config, host, port, ...(password !== undefined && { password }), ssl: tlsOf(place.to, ca) },
        place.isPooled,
      )
      placeOf.set(this, place)
    }
  }
}

/** Throws why there is none. */
function primaryOf(
  answers: Answer[],
  newest: { system: string; timeline: number },
): { place: Place; system: string; timeline: number; isSettled: boolean } {
  const primaries = answers.flatMap((answer) =>
    'said' in answer && answer.said.timeline !== null
      ? [{ place: answer.place, ...answer.said, timeline: answer.said.timeline }]
      : [],
  )
  const [first] = primaries.toSorted((one, other) => other.timeline - one.timeline)
  const systems = new Set(answers.flatMap((answer) => ('said' in answer ? [answer.said.system] : [])))
  if (systems.size > 1)
    throw new DatabaseUnavailableError(
      `the servers of the Postgres url belong to different clusters: ${answers.map(wordsOf).join('; ')}`,
    )
  if (first && (first.system !== newest.system || first.timeline >= newest.timeline)) return first
  // A refused login or a bad certificate is no outage: waiting does not heal it.
  for (const answer of answers) if ('error' in answer && !isBroken(answer.error)) throw answer.error
  const old = first ? `; timeline ${newest.timeline} was seen, and an older one is not served` : ''
  throw unavailable(`no server of the Postgres url is a primary: ${answers.map(wordsOf).join('; ')}${old}`)
}

function wordsOf(answer: Answer): string {
  const { name } = answer.place
  if ('error' in answer)
    return `${name}: ${(answer.error as Error).message || (answer.error as { code?: string }).code}`
  const { system, timeline } = answer.said
  return `${name}: ${timeline === null ? 'a standby' : `a primary of timeline ${timeline}`} (cluster ${system})`
}

/**
 * A PgBouncer gives to whoever says nothing what its first server connection of that login had. Started beside a
 * standby, it goes on to give `in_hot_standby = on` when that is the primary, can not set it, and says this: whoever
 * started after a promotion found no primary, for as long as that PgBouncer ran. It listens to who says `off`.
 */
function isOfBefore(error: unknown): boolean {
  return (error as Error).message === 'invalid server parameter'
}

/** One connection, which is opened again when it broke. */
function watch(place: Place, ca: string | undefined): { ask(): Promise<Said>; close(): Promise<void> } {
  const { to } = place
  let client: Client | undefined
  const drop = (): void => {
    client?.end().catch(() => {})
    client = undefined
  }
  const connected = async (): Promise<Client> => {
    if (client) return client
    const config = {
      ...{ host: to.host, port: to.port, user: to.user, database: to.database, ssl: tlsOf(to, ca) },
      ...(to.password !== undefined && { password: to.password }),
      ...{ application_name: 'loci-primary', connectionTimeoutMillis: ANSWER_MS, query_timeout: ANSWER_MS },
      keepAlive: true,
    }
    const opened = new Client(config, place.isPooled)
    // Without a listener an error between two beats would end the process.
    opened.on('error', () => {
      if (client === opened) drop()
    })
    await opened.connect()
    client = opened
    return opened
  }
  const ask = async (): Promise<Said> => {
    try {
      const asked = await connected()
      const { rows } = await asked.query<Said>(ASK)
      const said = rows[0] as Said
      const { processID: pid } = asked as unknown as { processID: number }
      if (pid === said.pid || place.isPooled) return said
      place.isPooled = true
      // Its word is asked for again by a connection that a standby can not have.
      drop()
      return await ask()
    } catch (error) {
      drop()
      if (place.isPooled || !isOfBefore(error)) throw error
      place.isPooled = true
      return await ask()
    }
  }
  return {
    ask,
    async close() {
      await client?.end().catch(() => {})
      client = undefined
    },
  }
}
