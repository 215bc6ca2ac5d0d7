-- serves: 0003
-- functions: 4003fb82d387c837caa5a13439151f243a708119c02d445b7a082e2445b149d0

-- A number of its own: the functions are made while no table is locked.
