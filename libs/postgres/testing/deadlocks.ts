import pg from 'pg'

/**
 * Counts the deadlocks that this process is told of. transaction() tries again after one, so that no answer shows it.
 */
export function countDeadlocks(): { count(): number; [Symbol.dispose](): void } {
  const { query } = pg.Client.prototype
  let count = 0
  pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const answer = (query as (...given: unknown[]) => unknown).apply(this, given)
    if (answer instanceof Promise)
      answer.catch((error: { code?: string }) => {
        if (error.code === '40P01') count += 1
      })
    return answer
  } as typeof query
  return {
    count: () => count,
    [Symbol.dispose]() {
      pg.Client.prototype.query = query
    },
  }
}
