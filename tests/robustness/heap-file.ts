// The heap file of a table of a stopped server: where its live tuples lie, and bits turned over inside them.
//
// A page: 24 bytes of header, of which bytes 12-13 say where the line pointers end; then line pointers of 4 bytes (15
// bits offset, 2 bits state, 15 bits length; state 1 = in use); the tuples from the end. A tuple: 23 bytes of header
// (xmin 0-3, xmax 4-7, cid 8-11, ctid 12-17, infomask2 18-19, infomask 20-21, where the data begin 22), then a bitmap
// of nulls, then the columns.

import { readFileSync, writeFileSync } from 'node:fs'

export interface Tuple {
  page: number
  /** Its line pointer, from 1: with the page its ctid. */
  line: number
  /** Of its first byte in the file. */
  at: number
  length: number
  /** Of its first column, counted from `at`. */
  dataAt: number
}

const PAGE = 8_192
const PAGE_HEADER = 24
const IN_USE = 1

export function listTuples(file: string): Tuple[] {
  const bytes = readFileSync(file)
  const tuples: Tuple[] = []
  for (let page = 0; page * PAGE < bytes.length; page += 1) {
    const start = page * PAGE
    const pointersEnd = bytes.readUInt16LE(start + 12)
    for (let pointer = PAGE_HEADER; pointer < pointersEnd; pointer += 4) {
      const word = bytes.readUInt32LE(start + pointer)
      if (((word >>> 15) & 3) !== IN_USE) continue
      const at = start + (word & 0x7fff)
      tuples.push({
        page,
        line: (pointer - PAGE_HEADER) / 4 + 1,
        at,
        length: word >>> 17,
        dataAt: bytes[at + 22] as number,
      })
    }
  }
  return tuples
}

export function flipBits(file: string, bits: { byte: number; bit: number }[]): void {
  const bytes = readFileSync(file)
  for (const { byte, bit } of bits) bytes[byte] = (bytes[byte] as number) ^ (1 << bit)
  writeFileSync(file, bytes)
}
