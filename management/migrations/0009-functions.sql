-- serves: 0004
-- functions: 0bda2bda56b3b78a354cae3af6ccbd05881fdc82928146943d5f0138a86ef21d

-- A number of its own: the functions are made while no table is locked.
