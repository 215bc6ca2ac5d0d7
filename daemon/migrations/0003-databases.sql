-- serves: 0003
-- functions: a1866f0ebbc4a4d2004c6c295454d50a86b9e6c48d5ec9248974655020fd32c8

-- The heads: one row per database, which every write of it locks first. What a domain keeps of its rows in a database
-- are columns here with the name of the domain in front: they change with the row that is locked and written anyway.
create table loci.databases (
  instance_id text not null,
  name text not null,
  created_at timestamptz not null,
  -- Numbers the writes of the database.
  seq bigint not null default 0,
  -- Set while the database is erased: nobody enters it.
  erasing_since timestamptz,
  kv_keys bigint not null default 0,
  kv_bytes bigint not null default 0,
  -- The first and second eight bytes of the digests of all entries, each combined by xor.
  kv_set_a bigint not null default 0,
  kv_set_b bigint not null default 0,
  -- A damaged entry was overwritten or deleted: bytes and hashes are unknown until the next full check.
  kv_unsettled boolean not null default false,
  primary key (instance_id, name)
);

-- A random key for each instance, sealed with LOCI_SEALING_KEYS.
create table loci.instance_keys (
  instance_id text primary key,
  sealed text not null,
  sealed_with text not null,
  created_at timestamptz not null default now()
);
create index instance_keys_by_seal on loci.instance_keys (sealed_with);
comment on table loci.instance_keys is 'without row-level security: sealed, and resealed for all instances at once';

create table loci.entries (
  instance_id text not null,
  database text not null,
  -- "C": order of code points, and prefix ranges that use the index under row-level security, where LIKE cannot.
  key text collate "C" not null,
  value text not null,
  version bigint not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  expires_at timestamptz,
  -- Over every other column (loci.entry_digest).
  digest bytea not null,
  primary key (instance_id, database, key)
);
create index entries_expiring on loci.entries (instance_id, database, expires_at) where expires_at is not null;

create table loci.idempotency (
  instance_id text not null,
  database text not null,
  route text not null,
  holder text not null,
  key text not null,
  fingerprint bytea not null,
  sealed_with text not null,
  status int not null,
  -- json, not jsonb: a repeat gets the bytes of the first answer.
  answer json not null,
  created_at timestamptz not null,
  -- What the row counts for.
  bytes int not null default 0,
  primary key (instance_id, database, route, holder, key)
);
-- Partial, though every answer has a status: a lookup by key does not name it, so the planner cannot take this index
-- for one. Before the first analyze it did, and read every answer of the instance.
create index idempotency_age on loci.idempotency (instance_id, created_at) where status > 0;

-- What GET /v1/kv/health writes, commits and reads back.
create table loci.probes (
  instance_id text primary key,
  nonce text not null,
  at timestamptz not null
);

-- Up to which seq a database was last read whole and found intact.
create table loci.verified (
  instance_id text not null,
  database text not null,
  seq bigint not null,
  rows bigint not null,
  verified_at timestamptz not null,
  primary key (instance_id, database)
);

do $$
declare
  v_table text;
begin
  foreach v_table in array array['databases', 'entries', 'idempotency', 'probes', 'verified'] loop
    execute format('alter table loci.%I enable row level security', v_table);
    execute format('alter table loci.%I force row level security', v_table);
    execute format($policy$create policy one_instance on loci.%I
      using (instance_id = nullif(current_setting('loci.instance', true), ''))
      with check (instance_id = nullif(current_setting('loci.instance', true), ''))$policy$, v_table);
  end loop;
end
$$;

-- One key of a walk (loci.kv_walk).
create type loci.walked as (key text, state text, bytes bigint, is_expired boolean, a bigint, b bigint, version bigint);
-- All keys that begin with the prefix and a character from first to last; first null: the prefix itself, as a key.
-- failed: how many reads had failed when the piece was left over as a second half.
create type loci.walk_piece as (prefix text, first int, last int, failed int);

grant select, insert, update, delete on loci.databases, loci.instance_keys, loci.entries, loci.idempotency, loci.probes, loci.verified to loci_app;
