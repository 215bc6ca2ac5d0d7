-- serves: 0003
-- functions: c4dea831d98eae68ab536c357c0db4093fdbedde0d6a02bc1006e899875493e4

-- Of a cycle that was claimed and has not run: when it was due first. Every claim moves `at`.
alter table loci.due add column first_at timestamptz;

-- Of the cycles of a database. How many there were, which is the number of the last one, the sum of their durations,
-- and of the last one its time and its hash. Of those that are kept: their bytes and their hashes combined by xor.
-- The checkpoint: up to which number they were pruned, the hash of that one, the durations of all before. Which one
-- set the focus that stands. Up to which number of the database they have taken in what came. Bytes of decisions by
-- the Monday of their week, until they are dropped; from before cyc_trimmed_to they were removed, by the days that
-- the plan had then. cyc_config: the version of the configuration that was put; null: none. cyc_interval_ms,
-- cyc_history: what is in force of it, where something other than a cycle must know it.
alter table loci.databases
  add column cyc_total bigint not null default 0,
  add column cyc_ms bigint not null default 0,
  add column cyc_last_at timestamptz,
  add column cyc_hash bytea,
  add column cyc_bytes bigint not null default 0,
  add column cyc_set_a bigint not null default 0,
  add column cyc_set_b bigint not null default 0,
  add column cyc_unsettled boolean not null default false,
  add column cyc_pruned_through bigint not null default 0,
  add column cyc_pruned_hash bytea,
  add column cyc_pruned_ms bigint not null default 0,
  add column cyc_focus_seq bigint,
  add column cyc_seen bigint not null default 0,
  add column cyc_weeks date[] not null default '{}',
  add column cyc_week_bytes bigint[] not null default '{}',
  add column cyc_trimmed_to timestamptz,
  add column cyc_config bigint,
  add column cyc_interval_ms bigint,
  add column cyc_history bigint not null default 100000,
  -- Attempts that failed, how many of them in a row since cycle cyc_failed_after, and the last of them.
  add column cyc_failed bigint not null default 0,
  add column cyc_failed_row bigint not null default 0,
  add column cyc_failed_after bigint not null default 0,
  add column cyc_failed_at timestamptz,
  add column cyc_failed_code text,
  -- The database's number at which all that is kept was last read and found intact; the cycle up to which, and when.
  add column cyc_verified bigint,
  add column cyc_checked_seq bigint,
  add column cyc_checked_at timestamptz,
  -- What was found damaged since: [{seq, ref, reason, at}, …].
  add column cyc_damaged jsonb;

-- What cycles decided, each linked to the one before by its hash. Content stands beside its salted hash, so that it can
-- be erased and the chain still verifies.
create table loci.cycles (
  instance_id text not null,
  database text not null,
  -- One by one from 1.
  seq bigint not null,
  id text collate "C" not null,
  started_at timestamptz not null,
  -- Never before that of the cycle before.
  completed_at timestamptz not null,
  duration_ms int not null,
  focus text,
  focus_salt bytea,
  focus_hash bytea,
  -- HMAC of the normalised focus, to be found by when a value is erased.
  focus_mac bytea,
  metadata text,
  metadata_salt bytea,
  metadata_hash bytea,
  -- Of the document of working memory that it left.
  after_digest bytea not null,
  decisions_hash bytea not null,
  -- Every other field, as the JSON that is sent.
  body text not null,
  prev_hash bytea,
  -- Over every other column, content as its salted hash (loci.cycle_hash).
  hash bytea not null,
  primary key (instance_id, database, seq)
);
create unique index cycles_by_id on loci.cycles (instance_id, database, id);
create index cycles_by_focus on loci.cycles (instance_id, database, focus_mac) where focus_mac is not null;

-- The decisions of a cycle, one row for all of them; its hash stands in the cycle.
create table loci.cycle_decisions (
  instance_id text not null,
  database text not null,
  seq bigint not null,
  at timestamptz not null,
  body text not null,
  primary key (instance_id, database, seq, at)
) partition by range (at);

-- Every cycle compresses them: see working_memory.
do $$
begin
  if 'lz4' = any (select unnest(enumvals) from pg_settings where name = 'default_toast_compression') then
    alter table loci.cycles alter column body set compression lz4;
    alter table loci.cycle_decisions alter column body set compression lz4;
  end if;
end
$$;

do $$
declare
  v_table text;
begin
  foreach v_table in array array['cycles', 'cycle_decisions'] loop
    execute format('alter table loci.%I enable row level security', v_table);
    execute format('alter table loci.%I force row level security', v_table);
    execute format($policy$create policy one_instance on loci.%I
      using (instance_id = nullif(current_setting('loci.instance', true), ''))
      with check (instance_id = nullif(current_setting('loci.instance', true), ''))$policy$, v_table);
  end loop;
end
$$;

grant select, insert, update, delete on loci.cycles, loci.cycle_decisions to loci_app;
