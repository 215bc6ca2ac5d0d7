-- serves: 0003
-- functions: 2d379fd733a509e879f340137f5da53fd28d67bb749c257e969d8a4252c9c30d

-- Functions alone: writes that must not find anything, and lists of entries backwards and without values.
