import pg from 'pg'
import type { Statement } from '../pool.ts'

/** Hands every named statement of this process to `look` before it is sent; what that throws fails the statement. */
export function watchStatements(look: (statement: Statement) => void): void {
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const statement = given[0] as Partial<Statement> | undefined
    if (typeof statement?.name === 'string' && typeof statement.text === 'string') look(statement as Statement)
    return (query as (...given: unknown[]) => unknown).apply(this, given)
  } as typeof query
}
