-- serves: 0016

-- Of the body as text, written with it: a page is measured by it. Null: published by a release before.
alter table loci.feed_items add column bytes integer;
-- Keys and revocations have a lane of their own in every page.
create index feed_items_urgent on loci.feed_items (cell_id, seq) where kind in ('key', 'revocation');
create index feed_items_ordinary on loci.feed_items (cell_id, seq) where kind in ('instance', 'partner_credential');
create index feed_items_deleted on loci.feed_items (cell_id, seq) where kind = 'instance' and body->>'state' = 'deleted';

-- The epoch that was last seen, and when it was first seen in place of another: since then this database may have lost something.
alter table loci.feed_epoch add column seen text, add column changed_at timestamptz;
grant update (seen, changed_at) on loci.feed_epoch to loci_app;

-- What staff must look at: {kind, at, detail} of the last one. It goes when the keys of the cell are changed.
alter table loci.cells add column alarm jsonb, add column deletion_seq bigint not null default 0;

-- Who has spoken as the cell: a process of the cell, or an address where it does not say which it is.
create table loci.cell_speakers (
  cell_id text not null references loci.cells on delete cascade,
  speaker text not null,
  address text not null,
  last_at timestamptz not null,
  primary key (cell_id, speaker)
);
comment on table loci.cell_speakers is 'without row-level security: addresses of the processes of cells';
grant select, insert, update, delete on loci.cell_speakers to loci_app;

-- Numbered under the lock of the cell, so that a restored cell can read the ledger page by page. The generation that was erased: a
-- service that began anew since is not erased again. The generation that the cell was told to erase: of a whole instance nothing else is
-- taken into the ledger, or whoever has the key of a cell could have a restored one erase what lives.
alter table loci.deletions add column seq bigint, add column generation bigint, add column asked_generation bigint,
  add column received_at timestamptz;
update loci.deletions d set seq = n.seq from (
  select cell_id, service_id, database, row_number() over (partition by cell_id order by at, service_id, database) as seq from loci.deletions
) as n where n.cell_id = d.cell_id and n.service_id = d.service_id and n.database = d.database;
update loci.cells c set deletion_seq = coalesce((select max(seq) from loci.deletions d where d.cell_id = c.id), 0);
create index deletions_by_seq on loci.deletions (cell_id, seq);
grant update (seq, generation, asked_generation, received_at) on loci.deletions to loci_app;
