-- serves: 0001
-- no transaction
create index concurrently if not exists notes_by_body on loci.notes (instance_id, body);
