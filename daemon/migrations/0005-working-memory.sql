-- serves: 0003
-- functions: cd4619492f9e8c53212154245a5fd14e46768634032697b0be508bf4cb1a547a

-- Of the slots of a database: how many, their bytes, their digests combined by xor, whether a damaged one was
-- overwritten since, and the document's version at which they were last read whole and found intact. wm_config: the
-- version of the configuration that was put; null: none.
alter table loci.databases
  add column wm_slots bigint not null default 0,
  add column wm_bytes bigint not null default 0,
  add column wm_set_a bigint not null default 0,
  add column wm_set_b bigint not null default 0,
  add column wm_unsettled boolean not null default false,
  add column wm_verified bigint,
  add column wm_config bigint;

-- The slots of one database as a document. The arrays have one element per slot, in the order in which they were made.
create table loci.working_memory (
  instance_id text not null,
  database text not null,
  -- The database's number of the last change.
  version bigint not null,
  evictions bigint not null,
  keys text[] not null,
  -- Each the very text that is sent.
  texts text[] not null,
  versions bigint[] not null,
  expires timestamptz[] not null,
  -- What the competition needs of each, as JSON.
  metas text[] not null,
  digests bytea[] not null,
  -- The earliest expiry.
  soonest timestamptz,
  -- Bytes of history and evictions by the Monday of their week, until they are dropped.
  weeks date[] not null,
  week_bytes bigint[] not null,
  -- Over every other column; one byte while a slot is damaged, so that each is looked at by itself.
  digest bytea not null,
  primary key (instance_id, database)
) with (fillfactor = 50);
-- In the row while it fits into a page: what is moved out is written, indexed and deleted again with each write. Each
-- write compresses the document: lz4 takes a tenth of the time, where the server has it.
do $$
declare
  v_column text;
  v_has_lz4 boolean := 'lz4' = any (select unnest(enumvals) from pg_settings where name = 'default_toast_compression');
begin
  for v_column in select a.attname from pg_attribute a
    where a.attrelid = 'loci.working_memory'::regclass and a.attnum > 0 and a.attstorage = 'x'
  loop
    execute format('alter table loci.working_memory alter column %I set storage main', v_column);
    if v_has_lz4 then
      execute format('alter table loci.working_memory alter column %I set compression lz4', v_column);
    end if;
  end loop;
end
$$;

-- What was sent with PUT config. kind: the domain that it configures.
create table loci.configs (
  instance_id text not null,
  database text not null,
  -- A policy of advice is kept as a configuration is: what was PUT, with a version and a digest.
  kind text not null check (kind in ('working-memory', 'cognitive') or kind like 'policy/%'),
  version bigint not null,
  sent text not null,
  digest bytea not null,
  primary key (instance_id, database, kind)
);

-- Every version of every slot.
create table loci.slot_versions (
  instance_id text not null,
  database text not null,
  key text collate "C" not null,
  version bigint not null,
  at timestamptz not null,
  text text not null,
  meta text not null,
  expires timestamptz,
  digest bytea not null,
  -- HMAC of the normalised value, to be found by when a value is erased.
  value_mac bytea not null,
  primary key (instance_id, database, key, version, at)
) partition by range (at);
-- `value_mac is not null` always holds, and only a lookup by value implies it: no other plan takes this index.
create index slot_versions_by_value on loci.slot_versions (value_mac, instance_id, database) where value_mac is not null;

create table loci.evictions (
  instance_id text not null,
  database text not null,
  seq bigint not null,
  at timestamptz not null,
  key text collate "C" not null,
  -- Of the slot that left.
  version bigint not null,
  why text not null,
  digest bytea not null,
  primary key (instance_id, database, seq, at)
) partition by range (at);

-- What a clear can be undone from: names and versions, the content stands in slot_versions.
create table loci.clears (
  instance_id text not null,
  database text not null,
  id uuid not null,
  at timestamptz not null,
  keys text[] not null,
  versions bigint[] not null,
  used_at timestamptz,
  primary key (instance_id, database, id, at)
) partition by range (at);

do $$
declare
  v_table text;
begin
  foreach v_table in array array['working_memory', 'configs', 'slot_versions', 'evictions', 'clears'] loop
    execute format('alter table loci.%I enable row level security', v_table);
    execute format('alter table loci.%I force row level security', v_table);
    execute format($policy$create policy one_instance on loci.%I
      using (instance_id = nullif(current_setting('loci.instance', true), ''))
      with check (instance_id = nullif(current_setting('loci.instance', true), ''))$policy$, v_table);
  end loop;
end
$$;

grant select, insert, update, delete on loci.working_memory, loci.configs, loci.slot_versions, loci.evictions, loci.clears to loci_app;
