// Where the tests find an encoder: TEST_ENCODER, or the cache that .ci/node uses too.

import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { MANIFEST } from '../folder.ts'

const CACHED = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'loci', 'encoder')
const named = process.env.TEST_ENCODER ?? CACHED

export const ENCODER_FOLDER = existsSync(path.join(named, MANIFEST)) ? named : undefined

/** For `skip` of a test that needs one. */
export const NO_ENCODER = ENCODER_FOLDER
  ? false
  : 'no encoder: make one (docs/operations/encoder.md), name it in TEST_ENCODER'
