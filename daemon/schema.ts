// Where the schema of a cell comes from.

import { schemaIn } from '@loci/postgres/migrations.ts'

export const SCHEMA = schemaIn(import.meta.dirname)
