-- serves: 0003
-- functions: 4fb766b58320822eb4ce711726fcd6c00d91245c3ca39cdb56b4b2321e6f95ff

-- The last change, also one that left the switch where it was; null: the time of `since`. And the last command of
-- management, by its time there, with what became of it.
alter table loci.subservices add column changed_at timestamptz, add column told_at timestamptz, add column told_outcome text;
