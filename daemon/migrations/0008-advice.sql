-- serves: 0003
-- functions: ba2e0cada6e8b74c17c57db9968a77d91d356f96602dba538dfd4fa00d86efac

-- How many projections of a database advice folds: outcomes, and what takes something back.
alter table loci.databases add column prj_folded bigint not null default 0;

-- What the outcomes of a database up to a number add up to. Derived: whatever is missing or of another version is
-- folded again.
create table loci.advice_snapshots (
  instance_id text not null,
  database text not null,
  seq bigint not null,
  -- prj_erased_at of the head when it was folded.
  erased_at bigint not null,
  head bytea not null,
  -- Of this row, its tools and the weights, as counted in the totals.
  bytes bigint not null,
  primary key (instance_id, database)
);

-- The tools of a snapshot, by the order of their first outcome.
create table loci.advice_tools (
  instance_id text not null,
  database text not null,
  place int not null,
  name text not null,
  body bytea not null,
  primary key (instance_id, database, place)
) with (fillfactor = 70);

-- What each outcome added, written with the snapshot that has it: a retraction takes back exactly this.
create table loci.advice_weights (
  instance_id text not null,
  database text not null,
  seq bigint not null,
  place int not null,
  tool text collate "C" not null,
  task_class text collate "C",
  -- A hash of the scope; null: without one.
  scope text,
  outcome text not null,
  t bigint not null,
  u bigint not null,
  attempt float8 not null,
  expected float8 not null,
  primary key (instance_id, database, seq, place)
);
create index advice_weights_by_tool on loci.advice_weights (instance_id, database, task_class, tool, seq, place);

-- What is left of outcomes whose projections have left, for each tool: the numbers of the first and the last of them,
-- and the time that they took. They add nothing; a fold from the beginning passes them as time.
create table loci.advice_passed (
  instance_id text not null,
  database text not null,
  tool text collate "C" not null,
  first_seq bigint not null,
  last_seq bigint not null,
  t bigint not null,
  u bigint not null,
  primary key (instance_id, database, tool)
);

do $$
declare
  v_table text;
begin
  foreach v_table in array array['advice_snapshots', 'advice_tools', 'advice_weights', 'advice_passed'] loop
    execute format('alter table loci.%I enable row level security', v_table);
    execute format('alter table loci.%I force row level security', v_table);
    execute format($policy$create policy one_instance on loci.%I
      using (instance_id = nullif(current_setting('loci.instance', true), ''))
      with check (instance_id = nullif(current_setting('loci.instance', true), ''))$policy$, v_table);
  end loop;
end
$$;

grant select, insert, update, delete on loci.advice_snapshots, loci.advice_tools, loci.advice_weights, loci.advice_passed to loci_app;
