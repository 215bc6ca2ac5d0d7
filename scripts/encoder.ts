// `npm run encoder -- <path or URL of the artefact> <folder>`: makes the folder for LOCI_ENCODER. Which artefact, and
// what the folder does: docs/operations/encoder.md. `--sha256 <hex>`: of another release of the artefact.

import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ARTEFACT_SHA256, makeFolder } from './encoder/make.ts'

const { values, positionals } = parseArgs({
  options: { sha256: { type: 'string', default: ARTEFACT_SHA256 } },
  allowPositionals: true,
})
const [source, folder] = positionals
if (!source || !folder || positionals.length > 2) {
  console.error('usage: npm run encoder -- <path or URL of the artefact> <folder> [--sha256 <hex>]')
  process.exit(2)
}
try {
  const { name, files } = makeFolder({ artefact: await read(source), sha256: values.sha256, folder })
  console.log(`${folder}: ${name}, ${Object.keys(files).length} files. Start the daemon with LOCI_ENCODER=${folder}`)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}

async function read(from: string): Promise<Buffer> {
  if (!/^https?:/.test(from)) return readFileSync(from)
  const answer = await fetch(from)
  if (!answer.ok) throw new Error(`${from} answered ${answer.status}`)
  return Buffer.from(await answer.arrayBuffer())
}
