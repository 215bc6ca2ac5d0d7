-- serves: 0003
-- functions: 46bfae47598c538127fe6fdaeff302b6d13438888100187c46c9886352f7d757

-- Lists of memories from the oldest on.
