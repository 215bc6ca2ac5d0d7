-- serves: 0003
-- no transaction

-- Asked for with each full resync; hardly ever is there one.
create index concurrently if not exists instances_held on loci.instances (id) where held_until is not null;
