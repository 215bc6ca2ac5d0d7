// Where the schema of the control database comes from.

export const MIGRATIONS = new URL('migrations', import.meta.url).pathname
