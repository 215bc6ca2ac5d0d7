-- serves: 0011

-- Which key, gateway or command made a credential, or its present secret: what a stolen key made is taken back with it.
alter table loci.api_keys add column made_by text;
alter table loci.tokens add column made_by text;
alter table loci.partner_credentials add column made_by text;
grant update (made_by) on loci.partner_credentials to loci_app;
create index api_keys_by_maker on loci.api_keys (organization_id, made_by) where made_by is not null;

-- An epoch of who asked for the tokens, `<organization>/<sub>`.
alter table loci.revocations drop constraint revocations_kind_check;
alter table loci.revocations add constraint revocations_kind_check check (kind in ('jti', 'org', 'ten', 'svc', 'sub'));
