-- serves: 0002

-- What the routes of tokens and partner credentials need: lists, newest first by id (its first 48 bits are the time of making), a
-- child that was taken back, and a partner credential whose secret was replaced.

create index tokens_listed on loci.tokens (organization_id, tenant_id, jti desc);
create index tokens_listed_service on loci.tokens (organization_id, service_id, jti desc);
drop index loci.tokens_of_tenant;
create index token_children_of_parent on loci.token_children (organization_id, parent_jti, registered_at desc);
create index partner_credentials_listed on loci.partner_credentials (organization_id, service_id, id desc) where revoked_at is null;

alter table loci.token_children add column revoked_at timestamptz;
-- Null until its secret was replaced for the first time.
alter table loci.partner_credentials add column rotated_at timestamptz;

grant update (revoked_at) on loci.token_children to loci_app;
grant update (digest, rotated_at) on loci.partner_credentials to loci_app;

-- A new part locks the whole table for a moment, and whoever comes after waits behind that. There are days to do it in: it gives up
-- at once and is tried again in a minute.
alter function loci.keep_audit_partitions() set lock_timeout = '200ms';
alter function loci.keep_event_partitions() set lock_timeout = '200ms';

-- Revocations are looked through every minute for those that are over.
create index feed_items_revocations on loci.feed_items ((body->>'expires_at')) where kind = 'revocation';
