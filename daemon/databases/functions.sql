-- Whoever writes for an instance enters it first, to the end of his transaction. A replica that has not heard of a
-- deletion yet would otherwise write behind the back of the one who erases, and what it wrote would stay for ever. The
-- lock is shared among writers and in memory only; false says that the instance is gone. The look at its state is a
-- statement of its own, after the lock: its snapshot is of a moment at which nobody erases.
create or replace function loci.enter_instance(p_instance text) returns boolean language plpgsql as $$
begin
  perform set_config('loci.instance', p_instance, true);
  perform pg_advisory_xact_lock_shared(hashtextextended(p_instance, 7026300004));
  return exists (select from loci.instances i where i.id = p_instance and i.state <> 'deleted');
end
$$;
