-- serves: 0003
-- functions: 1ecbee339f521db3db3a67fc6456b8feb0f5f43f3661d8ba94e2db876ea44ed5

-- Of the minute: answers of 500 and above, cycles, slots that left for want of room or below the bar of a focus, and
-- how many answers took how long, by the classes of LATENCY_BOUNDS_MS (libs/contract/usage.ts) up to the last with any.
alter table loci.usage_minutes add column errors bigint not null default 0, add column cycles bigint not null default 0,
  add column evictions bigint not null default 0, add column latency bigint[] not null default '{}';
