-- serves: 0003
-- functions: 0235b4b18dc14df2bce69a2cd01abed71f36156db8f47800d396017434633324

-- Two functions have a parameter more, with a default: beside their old selves a call would fit both.
drop function if exists loci.history_from(text);
drop function if exists loci.history_next(text, date[]);
