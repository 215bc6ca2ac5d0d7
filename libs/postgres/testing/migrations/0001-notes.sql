-- serves: 0001
create table loci.notes (
  instance_id text not null,
  id int not null,
  body text not null,
  primary key (instance_id, id)
);
alter table loci.notes enable row level security;
alter table loci.notes force row level security;
create policy notes_of_the_instance on loci.notes
  using (instance_id = current_setting('loci.instance', true));
grant select, insert, update, delete on loci.notes to loci_app;
