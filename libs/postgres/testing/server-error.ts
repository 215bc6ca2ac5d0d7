import pg from 'pg'

/** An error as the server answers it, for a test that has no server. */
export function serverError(code: string): Error {
  return Object.assign(new pg.DatabaseError('refused by a test', 0, 'error'), { code })
}
