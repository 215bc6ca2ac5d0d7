/** For a picture that nobody brings up to date and that decides all the same: tests of what is in it, and benches. */
export const AGELESS = {
  pictureMsMax: Number.POSITIVE_INFINITY,
  loadStanding: () => Promise.reject(new Error('a picture that does not age is not asked past')),
}
