-- serves: 0006

-- When management took the token back, by its own clock. An epoch of the service that lies a minute or more behind it covers it, and then
-- the row may go; without a time (told by an older management, or made by this cell's administration) it stays until it has expired.
alter table loci.revocations add column revoked_at timestamptz;
