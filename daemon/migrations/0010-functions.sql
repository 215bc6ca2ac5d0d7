-- serves: 0003
-- functions: ec37a4a0c4214cfb42a61903266d36e8ea856ea44c6bc5bf8f38eff2fedcbbe9

-- A number of its own: the functions are made while no table is locked.
