// What is known of a write that failed. Thrown by what talks to PostgreSQL, and turned into an answer by what talks
// HTTP: neither imports the other.

/**
 * Postgres could not be reached, broke off or stayed silent. Says nothing about whether a statement that was
 * under way took effect. A server turns it into "try again later".
 */
export class DatabaseUnavailableError extends Error {
  override name = 'DatabaseUnavailableError'
}

/**
 * The commit was sent and its outcome cannot be known: the connection broke before the answer, or the primary gave
 * up waiting for its standby. The transaction may or may not hold. Only repeat it if it is idempotent.
 */
export class CommitUnknownError extends Error {
  override name = 'CommitUnknownError'
}
