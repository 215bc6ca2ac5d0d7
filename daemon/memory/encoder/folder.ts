// The folder that LOCI_ENCODER names: a manifest, the model, its vocabulary and the runtime that computes it. Made by
// scripts/encoder.ts; the server never writes into it and downloads nothing.

import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import path from 'node:path'

export const MANIFEST = 'encoder.json'
export const MODEL = 'model.onnx'
export const VOCABULARY = 'vocabulary.txt'

export interface EncoderManifest {
  name: string
  dimensions: number
  /** Paths inside the folder, each with the SHA-256 of the file. */
  files: Record<string, string>
}

/**
 * Raise it with any change of what is made of a text before and behind the model: prefix, tokens that are read,
 * pooling, the scale of the numbers. Vectors of another version count as absent.
 */
const ENCODING_VERSION = 1

/** Which encoder it is: what is told at the start, and what vectors are kept with. */
export interface EncoderFacts {
  name: string
  /** SHA-256 of the model's file. */
  digest: string
  dimensions: number
  /** 32 bits of model, vocabulary and ENCODING_VERSION, never 0: vectors of another mark count as absent. */
  mark: number
}

/**
 * Reads every file that the manifest names: 80 MB, .1 s. Called in the encoder's thread, before anything is loaded. The
 * message of what it throws is the reason, for one line of the log.
 */
export function checkFolder(folder: string): EncoderFacts {
  const { name, dimensions, files } = readManifest(folder)
  for (const [file, digest] of Object.entries(files)) {
    if (createHash('sha256').update(bytesOf(folder, file)).digest('hex') !== digest)
      throw new Error(`${file} is not the file that ${MANIFEST} names`)
  }
  const model = files[MODEL]
  const vocabulary = files[VOCABULARY]
  if (!model || !vocabulary) throw new Error(`${MANIFEST} names no ${model ? VOCABULARY : MODEL}`)
  const made = createHash('sha256').update(`${model} ${vocabulary} ${ENCODING_VERSION}`).digest()
  return { name, digest: model, dimensions, mark: made.readUInt32LE(0) || 1 }
}

function readManifest(folder: string): EncoderManifest {
  const text = bytesOf(folder, MANIFEST).toString()
  try {
    const given = JSON.parse(text) as EncoderManifest
    if (isManifest(given)) return given
  } catch {
    // Said below.
  }
  throw new Error(`${MANIFEST} is not a manifest of an encoder`)
}

/** Differing signs are counted in bytes (index/meaning.ts). */
const DIMENSIONS_MAX = 960

/** Of eighths: one bit of each dimension makes whole bytes. No path leads out of the folder. */
function isManifest({ name, dimensions, files }: EncoderManifest): boolean {
  const isSound = Number.isInteger(dimensions) && dimensions > 0 && dimensions <= DIMENSIONS_MAX && dimensions % 8 === 0
  const areFiles = Object.entries(files).every(
    ([file, digest]) => /^(?!\/)(?!.*\.\.)[\w./@-]+$/.test(file) && /^[0-9a-f]{64}$/.test(digest),
  )
  return isSound && areFiles && /^[\w.-]{1,64}$/.test(name)
}

function bytesOf(folder: string, file: string): Buffer {
  try {
    return readFileSync(path.join(folder, file))
  } catch (error) {
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code})`)
  }
}
