-- serves: 0011

-- What is kept for a time leaves by age (management/retention). The rows stay closed by row-level security: it works on one organization
-- at a time.
grant delete on loci.operations, loci.tokens, loci.token_children, loci.usage_minutes to loci_app;
