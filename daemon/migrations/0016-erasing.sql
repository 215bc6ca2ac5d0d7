-- serves: 0003
-- no transaction

-- Databases that are being erased. It is mostly empty: every read looks into it.
create index concurrently if not exists databases_erasing on loci.databases (instance_id, name) where erasing_since is not null;
