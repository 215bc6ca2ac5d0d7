-- serves: 0004
-- functions: 0bda2bda56b3b78a354cae3af6ccbd05881fdc82928146943d5f0138a86ef21d

-- The functions are as in 0012, which made them while writers of loci.cells waited: they are made by the newest file
-- alone, so a database that comes from before 0012 makes them here, in a transaction that has locked no table.
