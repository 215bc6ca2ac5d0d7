// A file that somebody may have made, linked or closed to others: replaced whole or not at all, and afterwards it has
// the mode and the owner that it had, at the place where its link leads.

import { randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  statSync,
  writeSync,
} from 'node:fs'

/** `mode` is that of a new file, as far as the umask lets it. */
export function replaceFile(file: string, text: string, mode: number): void {
  const before = statSync(file, { throwIfNoEntry: false })
  const place = before ? realpathSync(file) : file
  const beside = `${place}.${randomBytes(4).toString('hex')}.new`
  const fd = openSync(beside, 'wx', before ? 0o600 : mode)
  try {
    writeSync(fd, text)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  if (before) {
    const own = statSync(beside)
    if (before.uid !== own.uid || before.gid !== own.gid) chownSync(beside, before.uid, before.gid)
    chmodSync(beside, before.mode & 0o777)
  }
  renameSync(beside, place)
}
