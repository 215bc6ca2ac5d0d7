-- serves: 0003
-- functions: 0235b4b18dc14df2bce69a2cd01abed71f36156db8f47800d396017434633324

-- An instance that is being put back from a copy of the database (restore-instance) answers nothing until then.
-- Infinity: until management's ledger was replayed.
alter table loci.instances add column held_until timestamptz;
create index instances_held on loci.instances (id) where held_until is not null;
