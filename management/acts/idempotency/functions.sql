-- The answer to a key that is known, in one statement and without a transaction around it: every creation asks for it
-- first.
create or replace function loci.idempotency_answer(p_organization text, p_caller text, p_route text, p_key text)
returns table (fingerprint bytea, sealed_with text, status int, body json, headers json, ref text) language plpgsql as $$
begin
  perform set_config('loci.organization', p_organization, true);
  return query select i.fingerprint, i.sealed_with, i.status, i.body, i.headers, i.ref from loci.idempotency i
    where i.organization_id = p_organization and i.caller = p_caller and i.route = p_route and i.key = p_key
      and i.status > 0 and i.created_at + interval '24 hours' >= clock_timestamp();
end
$$;
