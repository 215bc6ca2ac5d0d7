// As much of a zip archive as is needed to take two files out of one: its directory, and files that are stored or
// deflated. An archive of more than 4 GiB is not read.

import { inflateRawSync } from 'node:zlib'

const END = 0x0605_4b50
const ENTRY = 0x0201_4b50
const LOCAL = 0x0403_4b50
const END_BYTES = 22
const COMMENT_MAX = 65_535
const STORED = 0
const DEFLATED = 8

/** Names of the files in the archive, each with a function that reads it. */
export function readZip(bytes: Buffer): Map<string, () => Buffer> {
  const end = endOf(bytes)
  const files = new Map<string, () => Buffer>()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    if (bytes.readUInt32LE(at) !== ENTRY) throw new Error('the archive is damaged: its directory ends early')
    const method = bytes.readUInt16LE(at + 10)
    const size = bytes.readUInt32LE(at + 20)
    const whole = bytes.readUInt32LE(at + 24)
    const [name, extra, comment] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ]
    const local = bytes.readUInt32LE(at + 42)
    files.set(bytes.toString('utf8', at + 46, at + 46 + name), () => {
      if (bytes.readUInt32LE(local) !== LOCAL)
        throw new Error('the archive is damaged: a file is not where it should be')
      const from = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
      const packed = bytes.subarray(from, from + size)
      if (method === STORED) return packed
      if (method !== DEFLATED) throw new Error(`the archive packs with method ${method}, which is not read`)
      return inflateRawSync(packed, { maxOutputLength: whole })
    })
    at += 46 + name + extra + comment
  }
  return files
}

function endOf(bytes: Buffer): number {
  for (let at = bytes.length - END_BYTES; at >= Math.max(0, bytes.length - END_BYTES - COMMENT_MAX); at -= 1) {
    if (bytes.readUInt32LE(at) === END) return at
  }
  throw new Error('this is no zip archive')
}
