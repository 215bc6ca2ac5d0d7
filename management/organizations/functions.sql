create or replace function loci.memberships_of(user_id text)
returns table (organization_id text, name text, plan text, role text, created_at timestamptz)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select m.organization_id, o.name, o.plan, m.role, o.created_at from loci.members m join loci.organizations o on o.id = m.organization_id
  where m.user_id = memberships_of.user_id
$$;
revoke all on function loci.memberships_of(text) from public;
grant execute on function loci.memberships_of(text) to loci_app;

create or replace function loci.invitation_of(digest text)
returns table (id text, organization_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select i.id, i.organization_id from loci.invitations i where i.digest = invitation_of.digest
$$;
revoke all on function loci.invitation_of(text) from public;
grant execute on function loci.invitation_of(text) to loci_app;
