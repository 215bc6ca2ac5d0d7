-- serves: 0003
-- functions: 2d379fd733a509e879f340137f5da53fd28d67bb749c257e969d8a4252c9c30d

-- What was charged in the minute, and its dearest routes, units by name.
alter table loci.usage_minutes add column units float8 not null default 0;
alter table loci.usage_minutes add column routes jsonb not null default '{}';
