-- serves: 0003
-- functions: 35a0ad389632352f94a044955b4e4e38cade34f925ead3ee94368a19a11267a9

-- A number of its own: the functions are made while no table is locked.
