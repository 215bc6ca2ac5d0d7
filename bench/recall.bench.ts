// npm run bench -- recall [--short] [--only index,one,many,store] [--items 1000,15000,100000] [--databases 10000]
//
// index   processor time of a search, bytes per item and what pruning loses, without a database and HTTP
// one     recall over HTTP in one database of 15,000 and of 10^5 records: p99, processor time of the whole request,
//         what another tenant notices, and the first recall of a process that has just started
// many    recall uniformly over 10^4 databases of 10^3 records, and how the cost grows with the records of the cell
// store   one record stored, with an Idempotency-Key and without, against pgbench's bare insert of the same row
//
// Bounds of time are for a machine with a core to spare: on a busy one they are as much longer as it is slower.

import { parseArgs } from 'node:util'
import { measureIndex } from './recall-index.ts'
import { measureMany } from './recall-many.ts'
import { measureOne } from './recall-one.ts'
import { measureStore } from './recall-store.ts'

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: 'index,one,many,store' },
    items: { type: 'string' },
    databases: { type: 'string' },
  },
})
const { short } = options
const parts = options.only.split(',')
const items = (options.items ?? (short ? '1000,15000' : '1000,15000,100000')).split(',').map(Number)
const databases = Number(options.databases ?? (short ? 200 : 10_000))

let isReached = true
if (parts.includes('index')) isReached = measureIndex(items) && isReached
for (const size of items) {
  // Smaller ones are what `many` is about.
  if (parts.includes('one') && size >= 15_000) isReached = (await measureOne(size, { short })) && isReached
}
if (parts.includes('many')) isReached = (await measureMany(databases, { short })) && isReached
if (parts.includes('store')) isReached = (await measureStore({ short })) && isReached
process.exit(isReached ? 0 : 1)
