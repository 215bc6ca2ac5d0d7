import { ADVISORY_LOCKS } from '@loci/postgres/advisory-locks.ts'
import type { Pool, Sql } from '@loci/postgres/pool.ts'
import { execute } from '@loci/postgres/transaction.ts'

/** Of the database's clock, like every time of a session. */
const IDLE = `interval '7 days'`
const ABSOLUTE = `interval '30 days'`
/** How long a tab that lost a race may still come with a handle, from when that handle was replaced. */
const RACE = `interval '30 seconds'`
/** At least this long between two calls with one refresh token, when the first had no answer. */
const SILENCE = `interval '30 seconds'`
/** A call is over before that, or its process is dead. */
const CALL = `interval '5 seconds'`
/** Access tokens of one session that open something at a time: each goes on until it expires, unless so many follow. */
const TOKENS_MAX = 20
/** How long the reason of a session that is over can be told. */
const TOLD = `interval '1 day'`

export interface Person {
  issuer: string
  subject: string
  email: string
  name: string | null
}

/**
 * The person of (issuer, subject): known, or the one who was invited under this address and has not signed in yet, or a
 * new one. An address that somebody else has signed in with is not theirs: it may have passed from one to the other.
 */
export async function putPerson(sql: Sql, id: string, { issuer, subject, email, name }: Person): Promise<string> {
  // Two first sign-ins at once: the second waits here and then finds the person.
  await sql.query({
    name: 'sessions_lock_person',
    text: `select pg_advisory_xact_lock(hashtextextended($1, ${ADVISORY_LOCKS.person}))`,
    values: [`${issuer} ${subject}`],
  })
  const { rows } = await sql.query<{ id: string }>({
    name: 'sessions_put_person',
    text: `with known as (
        update loci.users set email = $4, name = $5 where issuer = $2 and subject = $3 returning id
      ), claimed as (
        update loci.users set issuer = $2, subject = $3, name = coalesce($5, name)
        where issuer is null and email = $4 and not exists (select from known) returning id
      ), made as (
        insert into loci.users (id, issuer, subject, email, name)
        select $1, $2, $3, $4, $5 where not exists (select from known) and not exists (select from claimed) returning id
      )
      select id from known union all select id from claimed union all select id from made`,
    values: [id, issuer, subject, email, name],
  })
  return (rows[0] as { id: string }).id
}

export interface SealedTokens {
  sealed: string
  sealedWith: string
  accessDigest: string
  accessExpiresAt: Date
}

interface NewSession {
  id: string
  userId: string
  salt: string
  tokens: SealedTokens
  authTime: Date | undefined
}

export async function insertSession(sql: Sql, { id, userId, salt, tokens, authTime }: NewSession): Promise<void> {
  await sql.query({
    name: 'sessions_insert',
    text: `with made as (
        insert into loci.sessions (id, user_id, salt, generation, sealed, sealed_with, access_expires_at, created_at, idle_ends_at, ends_at, auth_time)
        values ($1, $2, $3, 1, $4, $5, $6, now(), now() + ${IDLE}, now() + ${ABSOLUTE}, $8) returning id
      )
      insert into loci.session_tokens (digest, session_id, expires_at) select $7, id, $6 from made`,
    values: [id, userId, salt, tokens.sealed, tokens.sealedWith, tokens.accessExpiresAt, tokens.accessDigest, authTime],
  })
}

/** The open sessions of a person beyond the last used; and forgets what is beyond as many that are over. */
export async function listBeyond(sql: Sql, userId: string, max: number): Promise<string[]> {
  await sql.query({
    name: 'sessions_forget_beyond',
    text: `delete from loci.sessions where id in (select id from loci.sessions
      where user_id = $1 and ended_at is not null and revoke_at is null order by ended_at desc offset $2)`,
    values: [userId, max],
  })
  const { rows } = await sql.query<{ id: string }>({
    name: 'sessions_beyond',
    text: `select id from loci.sessions where user_id = $1 and ended_at is null order by idle_ends_at desc, id desc offset $2`,
    values: [userId, max],
  })
  return rows.map(({ id }) => id)
}

export interface SessionRow {
  id: string
  userId: string
  /** Of its person, at the provider. */
  subject: string
  salt: string
  generation: number
  sealed: string | null
  sealedWith: string | null
  accessExpiresAt: Date
  /** Why it is over; null while it goes on. */
  endReason: string | null
  /** So many handles before this one may still be in the hands of tabs that lost a race. */
  races: number
  /** Somebody is asking the provider right now. */
  isCalling: boolean
  /** Until the refresh token may be sent again; 0 = now. */
  silentMs: number
}

export async function findSessionById(sql: Sql, id: string): Promise<SessionRow | undefined> {
  const { rows } = await sql.query<SessionRow>({
    name: 'sessions_by_id',
    text: `select id, user_id as "userId", salt, generation, sealed, sealed_with as "sealedWith", access_expires_at as "accessExpiresAt",
        (select u.subject from loci.users u where u.id = user_id) as subject,
        case when ended_at is not null then end_reason when idle_ends_at <= clock_timestamp() then 'expired' end as "endReason",
        (select count(*) from unnest(replaced_at) t where t > clock_timestamp() - ${RACE})::int as races,
        refresh_call is not null and refresh_asked_at > clock_timestamp() - ${CALL} as "isCalling",
        coalesce(greatest(0, extract(epoch from refresh_asked_at + ${SILENCE} - clock_timestamp()) * 1000), 0)::int as "silentMs"
      from loci.sessions where id = $1`,
    values: [id],
  })
  return rows[0]
}

/**
 * Takes the lease: from here on nobody else sends the refresh token, until an answer is recorded or 30 s have passed.
 * One statement, committed at once: no transaction is open while the provider is asked. `isAgain`: an earlier call had
 * no answer, so the provider may have used the token up.
 */
export async function claimRefresh(
  pool: Pool,
  { id, generation, call }: { id: string; generation: number; call: string },
): Promise<{ isAgain: boolean } | undefined> {
  const { rows } = await execute<{ isAgain: boolean }>(pool, {
    name: 'sessions_claim',
    text: `update loci.sessions s set refresh_call = $3, refresh_asked_at = clock_timestamp()
      from (select id, refresh_asked_at is not null as again from loci.sessions where id = $1 for update) b
      where s.id = b.id and s.generation = $2 and s.ended_at is null and s.idle_ends_at > clock_timestamp()
        and (s.refresh_asked_at is null or s.refresh_asked_at <= clock_timestamp() - ${SILENCE})
      returning b.again as "isAgain"`,
    values: [id, generation, call],
  })
  return rows[0]
}

/** False when the session ended meanwhile: the new tokens belong to nobody. */
export async function saveRefresh(
  pool: Pool,
  { id, call, tokens }: { id: string; call: string; tokens: SealedTokens },
): Promise<boolean> {
  const { rowCount } = await execute(pool, {
    name: 'sessions_save_refresh',
    text: `with saved as (
        update loci.sessions set generation = generation + 1, sealed = $3, sealed_with = $4,
          replaced_at = (clock_timestamp() || replaced_at)[1:${TOKENS_MAX}], access_expires_at = $5, idle_ends_at = least(ends_at, clock_timestamp() + ${IDLE}), refresh_call = null,
          refresh_asked_at = null
        where id = $1 and refresh_call = $2 and ended_at is null returning id
      ), surplus as (
        delete from loci.session_tokens where digest in (
          select t.digest from loci.session_tokens t join saved on t.session_id = saved.id
          order by t.expires_at desc offset ${TOKENS_MAX - 1})
      )
      insert into loci.session_tokens (digest, session_id, expires_at) select $6, id, $5 from saved
      on conflict (digest) do update set expires_at = excluded.expires_at`,
    values: [id, call, tokens.sealed, tokens.sealedWith, tokens.accessExpiresAt, tokens.accessDigest],
  })
  return rowCount === 1
}

/** The answer had tokens that cannot be checked yet: keeps what the next call needs. False as in saveRefresh(). */
export async function keepRefreshToken(
  pool: Pool,
  { id, call, tokens }: { id: string; call: string; tokens: SealedTokens },
): Promise<boolean> {
  const { rowCount } = await execute(pool, {
    name: 'sessions_keep_refresh_token',
    text: `update loci.sessions set sealed = $3, sealed_with = $4, refresh_call = null, refresh_asked_at = null
      where id = $1 and refresh_call = $2 and ended_at is null`,
    values: [id, call, tokens.sealed, tokens.sealedWith],
  })
  return rowCount === 1
}

/** The call had no answer. `isSent` false: it never left us, and may be made again at once. */
export async function giveUpRefresh(pool: Pool, id: string, call: string, isSent: boolean): Promise<void> {
  await execute(pool, {
    name: 'sessions_give_up_refresh',
    text: `update loci.sessions set refresh_call = null, refresh_asked_at = case when $3 then refresh_asked_at end
      where id = $1 and refresh_call = $2`,
    values: [id, call, isSent],
  })
}

/** Undefined when it was over already. From here on none of its tokens and handles opens anything. */
export async function endSession(
  pool: Pool,
  id: string,
  reason: string,
): Promise<{ sealed: string | null; sealedWith: string | null } | undefined> {
  const { rows } = await execute<{ sealed: string | null; sealedWith: string | null }>(pool, {
    name: 'sessions_end',
    text: `update loci.sessions set ended_at = clock_timestamp(), end_reason = $2, refresh_call = null,
        revoke_at = case when sealed is not null then clock_timestamp() + ${SILENCE} end
      where id = $1 and ended_at is null returning sealed, sealed_with as "sealedWith"`,
    values: [id, reason],
  })
  return rows[0]
}

/** After the provider has revoked them, or nobody wants to try any more. */
export async function forgetTokens(pool: Pool, id: string): Promise<void> {
  await execute(pool, {
    name: 'sessions_forget_tokens',
    text: 'update loci.sessions set sealed = null, sealed_with = null, revoke_at = null where id = $1 and ended_at is not null',
    values: [id],
  })
}

/** What must be revoked now. Claiming moves it ahead, so that a process that dies leaves it to another. */
export async function claimRevocations(
  pool: Pool,
  max: number,
): Promise<{ id: string; sealed: string; sealedWith: string; isLast: boolean }[]> {
  const { rows } = await execute<{ id: string; sealed: string; sealedWith: string; isLast: boolean }>(pool, {
    name: 'sessions_claim_revocations',
    text: `update loci.sessions s set revoke_at = clock_timestamp() + interval '1 minute'
      from (select id from loci.sessions where revoke_at <= clock_timestamp() order by revoke_at limit $1 for update skip locked) b
      where s.id = b.id
      returning s.id, s.sealed, s.sealed_with as "sealedWith", s.ended_at < clock_timestamp() - interval '1 day' as "isLast"`,
    values: [max],
  })
  return rows
}

/** What is over: access tokens at once, sessions when their reason is of no use to anybody any more. */
export async function pruneSessions(pool: Pool, max: number): Promise<number> {
  const { rowCount: tokens } = await execute(pool, {
    text: `delete from loci.session_tokens where digest in
      (select digest from loci.session_tokens where expires_at < clock_timestamp() limit $1)`,
    values: [max],
  })
  // Nobody asks for it any more, and the provider may hold its refresh token for good much longer than we do.
  const { rowCount: expired } = await execute(pool, {
    text: `update loci.sessions set ended_at = clock_timestamp(), end_reason = 'expired', refresh_call = null,
        revoke_at = case when sealed is not null then clock_timestamp() end
      where id in (select id from loci.sessions where ended_at is null and idle_ends_at < clock_timestamp() limit $1
        for update skip locked)`,
    values: [max],
  })
  const { rowCount: sessions } = await execute(pool, {
    text: `delete from loci.sessions where id in (select id from loci.sessions
      where ended_at < clock_timestamp() - ${TOLD} and revoke_at is null limit $1)`,
    values: [max],
  })
  return Math.max(tokens, expired, sessions)
}
