-- serves: 0011
-- no transaction
create index concurrently if not exists tokens_by_sub on loci.tokens (organization_id, sub) where revoked_at is null;
