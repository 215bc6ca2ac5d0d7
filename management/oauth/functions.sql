-- The organization of a client or a grant of OAuth, and nothing else about it. Called with what its holder brought,
-- before an organization is chosen. No locks. Cost: one read of an index for each of the two kinds.
create or replace function loci.oauth_organization_of(p_id text) returns text
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select c.organization_id from loci.oauth_clients c where c.id = p_id
  union all
  select g.organization_id from loci.oauth_grants g where g.id = p_id
$$;
revoke all on function loci.oauth_organization_of(text) from public;
grant execute on function loci.oauth_organization_of(text) to loci_app;
