-- serves: 0001
create table loci.note_heads (
  instance_id text primary key,
  notes int not null default 0
);
grant select, insert, update, delete on loci.note_heads to loci_app;
comment on table loci.note_heads is 'without row-level security: heads of notes, no content';
