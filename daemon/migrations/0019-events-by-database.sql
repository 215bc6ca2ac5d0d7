-- serves: 0003

-- A database is erased whole, and its events with it: without this every batch of an erasure read all events of the
-- instance, .9 s for a million. Only: partitions that are there keep their rows unread under the lock, and go within 30
-- hours; new ones are made like the table and have it.
create index events_by_database on only loci.events (instance_id, database);
