// Asks a daemon on a throwaway PostgreSQL for each example of the document and keeps what it answers, in
// daemon/examples.json. A test holds that file against the next run; what is answered as before stays as it is.

import { readFileSync, writeFileSync } from 'node:fs'
import { keptWhereSame } from '@loci/chassis/testing/steady.ts'
import { tellExamples } from '@loci/daemon/testing/examples.ts'

const FILE = 'daemon/examples.json'

const kept = JSON.parse(readFileSync(FILE, 'utf8'))
const told = keptWhereSame(await tellExamples(), kept)
writeFileSync(FILE, `${JSON.stringify(told, null, 2)}\n`)
const changed = Object.keys(told).filter((line) => told[line] !== kept[line])
console.log(changed.length > 0 ? `changed: ${changed.join(', ')}` : 'nothing changed')
process.exit(0)
