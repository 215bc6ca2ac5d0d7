-- serves: 0004
-- functions: 205b50334a4a2d6595ad10bcf0501ea3196ecf81c73ec2b890ad4a0f69aebed9

-- A number of its own: the functions are made while no table is locked.
