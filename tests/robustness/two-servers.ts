// The PostgreSQL of a cell and that of the control plane as the one server that a world is made on.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'

export function twoServers(cell: Throwaway, control: Throwaway): Throwaway {
  const of = (database: string) => (database === 'loci_control' ? control : cell)
  return {
    ...cell,
    adminUrl: (database = 'postgres') => of(database).adminUrl(database),
    url: (role, database, via) => of(database).url(role, database, via),
    async remove() {
      await cell.remove()
      await control.remove()
    },
  }
}
