-- serves: 0006

-- An epoch of who asked for the tokens, `<organization>/<sub>`.
alter table loci.revocations drop constraint revocations_kind_check;
alter table loci.revocations add constraint revocations_kind_check check (kind in ('jti', 'org', 'ten', 'svc', 'sub'));
