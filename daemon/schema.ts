// Where the schema of a cell comes from.

import { ACTS } from '@loci/acts/schema.ts'
import { schemaIn } from '@loci/postgres/migrations.ts'

export const SCHEMA = schemaIn(import.meta.dirname, ACTS)
