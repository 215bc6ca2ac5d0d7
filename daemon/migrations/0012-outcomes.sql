-- serves: 0003
-- functions: 25a2950d0a772ae5f695b764373392d54710820256887de9be830cd86c82da54

-- Functions alone: prj_store, the part of prj_write that an act calls.
