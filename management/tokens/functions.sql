-- Whether we issued the jti to another tenant, and nothing about anything else. Called by the store of tokens. No
-- locks. Cost: one read of an index.
create or replace function loci.is_token_of_another(p_jti text, p_tenant text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from loci.tokens t where t.jti = p_jti and t.tenant_id <> p_tenant)
$$;
revoke all on function loci.is_token_of_another(text, text) from public;
grant execute on function loci.is_token_of_another(text, text) to loci_app;
