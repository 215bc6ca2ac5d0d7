import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { deflateRawSync } from 'node:zlib'
import { ARTEFACT_SHA256, makeFolder } from './make.ts'
import { readZip } from './zip.ts'

/** As the jar tool writes it: sizes in the directory alone would be as good for the reader. */
function zipOf(files: Record<string, { bytes: Buffer; method: number }>): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const [name, { bytes, method }] of Object.entries(files)) {
    const packed = method === 8 ? deflateRawSync(bytes) : bytes
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(name.length, 26)
    const entry = Buffer.alloc(46)
    entry.writeUInt32LE(0x02014b50, 0)
    entry.writeUInt16LE(method, 10)
    entry.writeUInt32LE(packed.length, 20)
    entry.writeUInt32LE(bytes.length, 24)
    entry.writeUInt16LE(name.length, 28)
    entry.writeUInt32LE(at, 42)
    parts.push(local, Buffer.from(name), packed)
    directory.push(entry, Buffer.from(name))
    at += 30 + name.length + packed.length
  }
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(at, 16)
  return Buffer.concat([...parts, ...directory, end])
}

test('files are read out of an archive, packed or stored', () => {
  const bytes = Buffer.from('a model '.repeat(1_000))
  const files = readZip(zipOf({ 'a.onnx': { bytes, method: 8 }, 'b/c.json': { bytes, method: 0 } }))
  assert.deepEqual([...files.keys()], ['a.onnx', 'b/c.json'])
  for (const read of files.values()) assert.deepEqual(read(), bytes)
  assert.throws(() => readZip(bytes), /no zip archive/)
  assert.throws(() => readZip(zipOf({ a: { bytes, method: 12 } })).get('a')?.(), /method 12/)
})

// Mutant: makeFolder() without the comparison.
test('an artefact with another digest makes no folder', () => {
  const folder = path.join(tmpdir(), `loci-encoder-never-${process.pid}`)
  const artefact = zipOf({ 'bge-small-en-v1.5-q.onnx': { bytes: Buffer.from('x'), method: 0 } })
  assert.throws(() => makeFolder({ artefact, sha256: ARTEFACT_SHA256, folder }), /nothing was made/)
  assert.equal(existsSync(folder), false)
})
