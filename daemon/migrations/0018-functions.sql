-- serves: 0003
-- functions: c0e873125ebda4bb413fe44c4601e9ee1433076cb97e26307f8f94b773d24b30

alter table loci.due validate constraint due_kind_check;
