// What access knows of instances, keys, revocations and partner credentials, read from the cell's PostgreSQL. The feed
// writes it (daemon/feed/store.ts), and so do the cell's own revocations.

import type { Capability } from '@loci/capability/capability.ts'
import { DatabaseUnavailableError } from '@loci/contract/outcomes.ts'
import { DATABASE_LIFE } from '@loci/postgres/life.ts'
import type { Sql } from '@loci/postgres/pool.ts'
import { requirePrimary } from '@loci/postgres/watch.ts'
import {
  type AuthorityChanges,
  type CredentialStatus,
  type Instance,
  NOTHING_READ,
  type PartnerCredential,
  type Revocation,
  type SigningKey,
  scopesOf,
} from './authority.ts'

const INSTANCE = `id, organization_id as "organizationId", tenant_id as "tenantId", service_type as "serviceType", plan, state,
  state_reason as "stateReason", limits, extract(epoch from held_until)::float8 * 1000 as "heldUntilMs"`
/** This database is a restored copy: it is not the one in which the feed was last applied to its end. */
export const IS_RESTORED = `coalesce(life <> ${DATABASE_LIFE}, false)`
const PARTNER = `id, instance_id as "instanceId", organization_id as "organizationId", tenant_id as "tenantId", partner, database,
  projection_classes as "projectionClasses", routes, digest, state, expires_at as "expiresAt"`

export async function findInstance(sql: Sql, id: string): Promise<Instance | undefined> {
  const { rows } = await sql.query<Instance>({
    name: 'instance_find',
    text: `select ${INSTANCE} from loci.instances where id = $1`,
    values: [id],
  })
  return rows[0]
}

export async function findPartnerCredential(sql: Sql, id: string): Promise<PartnerCredential | undefined> {
  const { rows } = await sql.query<PartnerCredential>({
    name: 'partner_find',
    text: `select ${PARTNER} from loci.partner_credentials where id = $1`,
    values: [id],
  })
  return rows[0]
}

/**
 * Everything that changed after `since`. The number is read first: a change in between is read twice, never missed.
 */
export async function readChanges(sql: Sql, since: number): Promise<AuthorityChanges> {
  const { rows } = await sql.query<Pick<AuthorityChanges, 'changeSeq' | 'feedAgeS' | 'isRestored' | 'life'>>({
    name: 'cell_read',
    text: `select change_seq as "changeSeq", extract(epoch from clock_timestamp() - feed_heard_at)::float8 as "feedAgeS",
        ${IS_RESTORED} as "isRestored", ${DATABASE_LIFE} as life from loci.cell`,
  })
  const { changeSeq, feedAgeS, isRestored, life } = rows[0] as (typeof rows)[number]
  const nothing: AuthorityChanges = {
    changeSeq,
    feedAgeS,
    isRestored,
    life,
    keys: [],
    revocations: [],
    instances: [],
    partnerCredentials: [],
  }
  if (changeSeq === since) return nothing
  const changed = async <Row extends object>(name: string, columns: string, table: string) =>
    (
      await sql.query<Row>({
        name: `changed_${name}`,
        text: `select ${columns} from loci.${table} where change_seq > $1`,
        values: [since],
      })
    ).rows
  return {
    ...nothing,
    keys: await changed<SigningKey>('keys', `kid, x, state, retire_at as "retireAt"`, 'signing_keys'),
    revocations: await changed<Revocation>(
      'revocations',
      `kind, svc, value, not_before as "notBefore", expires_at as "expiresAt", revoked_at as "revokedAt", withdrawn as "isWithdrawn", restated as "isRestated"`,
      'revocations',
    ),
    // At the start the cache is empty and has nothing to update: instances load on first use.
    instances: since === NOTHING_READ ? [] : await changed<Instance>('instances', INSTANCE, 'instances'),
    partnerCredentials:
      since === NOTHING_READ ? [] : await changed<PartnerCredential>('partners', PARTNER, 'partner_credentials'),
  }
}

/** What authority.isRevoked() and findKey() answer from the cache, read from the tables. */
export async function readCredentialStatus(
  sql: Sql,
  { root, jtis, kid }: Pick<Capability, 'root' | 'jtis' | 'kid'>,
): Promise<CredentialStatus> {
  const scopes = scopesOf(root)
  const { rows } = await sql.query<CredentialStatus>({
    name: 'credential_status_read',
    text: `select exists (select from loci.revocations where kind = 'jti' and svc in ($1, '*') and value = any($2) and not withdrawn)
        or exists (select from unnest($3::text[], $4::text[]) as s(kind, value) join loci.revocations r using (kind, value)
          where r.svc in ('', '*') and not r.withdrawn and r.not_before >= to_timestamp($5)) as "isRevoked",
      exists (select from loci.signing_keys where kid = $6 and state <> 'removed'
        and (retire_at is null or retire_at > clock_timestamp())) as "isKeyGood",
      (select ${IS_RESTORED} from loci.cell) as "isRestored"`,
    values: [root.svc, jtis, scopes.map(([kind]) => kind), scopes.map(([, value]) => value), root.iat, kid],
  })
  return rows[0] as CredentialStatus
}

/**
 * For connections that serve requests: a replica that stays up while its database is restored polls only every 300 ms,
 * and must not serve what was deleted in between.
 */
export async function requireOwnLife(query: <Row extends object>(text: string) => Promise<Row[]>): Promise<void> {
  await requirePrimary(query)
  const [cell] = await query<{ isRestored: boolean }>(`select ${IS_RESTORED} as "isRestored" from loci.cell`)
  if (cell?.isRestored)
    throw new DatabaseUnavailableError('PostgreSQL of this cell was restored; it serves after a full resync')
}
