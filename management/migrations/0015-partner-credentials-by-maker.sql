-- serves: 0011
-- no transaction
create index concurrently if not exists partner_credentials_by_maker on loci.partner_credentials (organization_id, made_by) where revoked_at is null;
