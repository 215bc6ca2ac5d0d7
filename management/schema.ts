// Where the schema of the control database comes from.

import { schemaIn } from '@loci/postgres/migrations.ts'

export const SCHEMA = schemaIn(import.meta.dirname)
