-- The organizations of a person, which must be known before one is chosen. Called by the store of organizations. No
-- locks. Cost: one index range.
create or replace function loci.memberships_of(p_user text)
returns table (organization_id text, name text, plan text, role text, created_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select m.organization_id, o.name, o.plan, m.role, o.created_at
  from loci.members m join loci.organizations o on o.id = m.organization_id where m.user_id = p_user
$$;
revoke all on function loci.memberships_of(text) from public;
grant execute on function loci.memberships_of(text) to loci_app;

-- The invitation of a one-time token, by the digest that only its holder can make. Called by the store of
-- organizations. No locks. Cost: one read of an index.
create or replace function loci.invitation_of(p_digest text)
returns table (id text, organization_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select i.id, i.organization_id from loci.invitations i where i.digest = p_digest
$$;
revoke all on function loci.invitation_of(text) from public;
grant execute on function loci.invitation_of(text) to loci_app;
