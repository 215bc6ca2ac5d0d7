-- serves: 0003

-- An instance that is being put back from a copy of the database (restore-instance) answers nothing until then.
-- Infinity: until management's ledger was replayed.
alter table loci.instances add column held_until timestamptz;
