// The clusters as the one server that a world is made on: each plane's URLs lead to its own.

import type { Throwaway } from '@loci/postgres/testing/throwaway.ts'
import type { Cluster } from './cluster.ts'
import type { Machines } from './machines.ts'

export function asPostgres(
  { cell, control }: { cell: Cluster; control: Cluster },
  passwords: Record<string, string>,
  machines: Machines,
): Throwaway {
  const of = (database: string) => (database === 'loci_control' ? control : cell)
  const nobody = () => {
    throw new Error('three machines are not started and stopped as one')
  }
  return {
    port: 5432,
    directory: machines.directory,
    dataDirectory: machines.directory,
    socketDirectory: machines.directory,
    binDirectory: '',
    adminUrl: (database = 'postgres') => of(database).adminUrl(database),
    // Whoever makes the schema needs a session of his own.
    url: (role, database) =>
      of(database).url(role, passwords[role] as string, database, role.endsWith('_owner') ? 'postgres' : 'pgbouncer'),
    ...{ pid: nobody, start: nobody, stop: nobody, crash: nobody, pause: nobody },
    async remove() {},
    async [Symbol.asyncDispose]() {},
  }
}
