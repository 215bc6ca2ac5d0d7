-- serves: 0010

-- A child is unique in its service. By organization, and asked of everybody's ids, whoever heard of a jti could register it first
-- and so keep its owner from taking it back, and could ask which ids exist. Code before this answers 500 to the registration of
-- a child until it is replaced: its `on conflict` names the old key.
alter table loci.token_children drop constraint token_children_pkey;
alter table loci.token_children add primary key (organization_id, service_id, jti);
drop index loci.token_children_by_jti;

-- Ids of our own making alone: a jti of a child is a text of its holder's choice.
create or replace function loci.owner_of(id text)
returns table (organization_id text, tenant_id text, service_id text, cell_id text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select t.organization_id, t.id, null, null from loci.tenants t where t.id = owner_of.id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id from loci.services s where s.id = owner_of.id
  union all
  select s.organization_id, s.tenant_id, s.id, s.cell_id
  from (
    select t.organization_id, t.service_id from loci.tokens t where t.jti = owner_of.id
    union all
    select p.organization_id, p.service_id from loci.partner_credentials p where p.id = owner_of.id
  ) held join loci.services s on s.organization_id = held.organization_id and s.id = held.service_id
$$;

-- Whether we issued the jti to another tenant, and nothing about anything else.
create function loci.is_token_of_another(p_jti text, p_tenant text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from loci.tokens t where t.jti = p_jti and t.tenant_id <> p_tenant)
$$;
revoke all on function loci.is_token_of_another(text, text) from public;
grant execute on function loci.is_token_of_another(text, text) to loci_app;
