-- serves: 0004
-- functions: 0bda2bda56b3b78a354cae3af6ccbd05881fdc82928146943d5f0138a86ef21d

create table loci.cell_switches (
  cell_id text not null references loci.cells (id) on delete cascade,
  name text not null,
  -- As the cell has reported it last.
  enabled boolean not null,
  since timestamptz not null,
  changed_by text,
  reason text,
  auto_revert_at timestamptz,
  told_at timestamptz,
  outcome text,
  reported_at timestamptz not null,
  -- What staff asked for last, and its number in the feed of the cell.
  wanted boolean,
  wanted_at timestamptz,
  wanted_by text,
  wanted_reason text,
  wanted_revert_at timestamptz,
  seq bigint,
  primary key (cell_id, name)
);
comment on table loci.cell_switches is 'without row-level security: switches of the cells, no tenant';
grant select, insert, update on loci.cell_switches to loci_app;
