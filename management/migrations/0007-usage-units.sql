-- serves: 0004
-- functions: 33a02cc852e6b9884a5af142b2280fba55328fcba127bb3514f3a18167b04128

-- Not validated: that would read every row while readers and writers wait, and those there are have the default.
alter table loci.usage_minutes add column units float8 not null default 0,
  add constraint usage_minutes_units_check check (units >= 0) not valid;
-- The dearest of the minute, a list of { route, units }; kept for an hour.
alter table loci.usage_minutes add column routes jsonb;
grant update (units, routes) on loci.usage_minutes to loci_app;
