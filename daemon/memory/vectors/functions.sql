-- Vectors of records.

-- Which encoder made the vectors of a segment, as its head says (format.ts): 0 where it has none, or not of all items.
-- Called by mem_replace_segments.
create or replace function loci.segment_encoded(p_body bytea) returns bigint language sql immutable parallel safe as $$
  select case when length(p_body) < 32 or substr(p_body, 29, 4) <> '\x00000000' then 0
    else get_byte(p_body, 24) + get_byte(p_body, 25) * 256 + get_byte(p_body, 26) * 65536 + get_byte(p_body, 27) * 16777216::bigint end
$$;
