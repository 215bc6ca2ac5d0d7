-- serves: 0003
-- functions: 9fe8873a336bed87a42947b6dde14d5581250df603a919ad6ec885edb57f4503

-- A number of its own: the functions are made while no table is locked.
