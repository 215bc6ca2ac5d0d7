// The figures that `npm run bench -- capacity` measured: the source of docs/operations/capacity.md.

/** Microseconds of processor and bytes, of each. */
export interface Operation {
  name: string
  perSecond: number
  p99Ms: number
  daemonUs: number
  postgresUs: number
  walBytes: number
  /** Growth of the cell's database on disk, indexes included. */
  keptBytes: number
}

export interface CapacityFigures {
  at: string
  machine: { cores: number; processor: string; gib: number; node: string; postgres: string }
  clients: number
  /** Databases that were asked, and the records of each where records are searched. */
  databases: number
  records: number
  operations: Operation[]
  connections: { most: number; atRest: number; backendBytes: number }
  /** The cost of one service that a customer makes, until it is active. */
  services: {
    made: number
    managementUs: number
    daemonUs: number
    postgresUs: number
    controlBytes: number
    cellBytes: number
    walBytes: number
  }
  /** Microseconds of processor in a second, with a few instances and with many, when nobody asks anything. */
  idle: {
    instances: number
    cellBytes: number
    few: { daemonUs: number; postgresUs: number }
    many: { daemonUs: number; postgresUs: number }
    daemonMb: { few: number; many: number }
  }
}
