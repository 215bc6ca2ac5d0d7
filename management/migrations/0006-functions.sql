-- serves: 0004
-- functions: 33a02cc852e6b9884a5af142b2280fba55328fcba127bb3514f3a18167b04128

-- A number of its own: the functions are made while no table is locked.
