-- serves: 0004
-- functions: 0bda2bda56b3b78a354cae3af6ccbd05881fdc82928146943d5f0138a86ef21d

-- What a holder says of a link that it made offline. Null: it said nothing.
alter table loci.token_children add column name text, add column ops text[];
