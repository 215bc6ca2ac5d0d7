-- serves: 0003
-- functions: 72c3f9fe9f7df1afa050a59be663c05af77d08f41879d053f5a51c95976416d5

-- A number of its own: the functions are made while no table is locked.
