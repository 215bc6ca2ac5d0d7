-- serves: 0003
-- functions: 03c8f8d43942be0bffbb0801e843c6e067b84b336d1323659a6215d5aa782558

-- A text of the index has the record's key.
