create or replace function loci.count_notes(p_instance text) returns bigint language plpgsql as $$
begin
  perform set_config('loci.instance', p_instance, true);
  return (select count(*) from loci.notes n where n.instance_id = p_instance);
end
$$;
