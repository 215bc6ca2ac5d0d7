-- serves: 0003

-- A database is erased whole by due work.
alter table loci.due drop constraint due_kind_check, add constraint due_kind_check check (kind in
  ('expiry', 'slots', 'records', 'projections', 'history', 'index', 'vectors', 'advice', 'cycle', 'config', 'erase')) not valid;
