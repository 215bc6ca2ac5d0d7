/** For an authority that nobody polls and that decides all the same: tests of its content, and benches. */
export const AGELESS = {
  cacheMsMax: Number.POSITIVE_INFINITY,
  loadCredentialStatus: () =>
    Promise.reject(new Error('an authority that never becomes stale does not read the database')),
}
