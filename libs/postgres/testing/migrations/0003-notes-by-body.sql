-- serves: 0001
-- functions: 89837dab76dce7febd14db8d599dd91f6be321ad14ad7dc205fbf2a2cf9b63cd
-- no transaction
create index concurrently if not exists notes_by_body on loci.notes (instance_id, body);
