-- serves: 0004
-- functions: 0bda2bda56b3b78a354cae3af6ccbd05881fdc82928146943d5f0138a86ef21d

-- Not validated: that would read every row while readers and writers wait, and those there are have the default.
alter table loci.usage_minutes add column errors bigint not null default 0, add column cycles bigint not null default 0,
  add column evictions bigint not null default 0, add column latency bigint[] not null default '{}',
  add constraint usage_minutes_answers_check check (errors >= 0 and cycles >= 0 and evictions >= 0) not valid;
grant update (errors, cycles, evictions, latency) on loci.usage_minutes to loci_app;
