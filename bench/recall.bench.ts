// npm run bench -- recall [--short] [--only index,encoder,one,filters,several,growth,many,store]
//                         [--items 1000,15000,100000]
//                         [--databases 10000] [--hold FILE] [--encoder]
//
// index   processor time of a search, bytes per item and what pruning loses, without a database and HTTP
// encoder start, memory and time of the encoder, what a question's vector costs a search, what its coarse pass misses
// one     recall over HTTP in one database of 15,000 and of 10^5 records: p99, processor time of the whole request,
//         what another tenant notices, and the first recall of a process that has just started
// filters a recall narrowed by conversation, metadata, tag and time against the same without, in the same run
// several one recall over eight databases of 10^3 records against one over one
// growth  how the cost of a recall grows from 10^3 to 10^6 records in the cell, 10^3 in each database
// many    recall uniformly over 10^4 databases of 10^3 records that rest, and over 10^3 that were just written to
// store   one record stored, with an Idempotency-Key and without, against pgbench's bare insert of the same row
//
// --hold: one, filters, several, growth and many load, then wait until there is such a file: loading may take what time
// it takes, the measurement is made when the machine is quiet.
//
// --encoder: the daemon of one and of store has an encoder.
//
// Bounds of time are for a machine with a core to spare: on a busy one they are as much longer as it is slower.

import { parseArgs } from 'node:util'
import { ENCODER_FOLDER, NO_ENCODER } from '@loci/daemon/memory/encoder/testing/folder.ts'
import { measureEncoder } from './recall-encoder.ts'
import { measureFilters, measureSeveral } from './recall-filters.ts'
import { measureIndex } from './recall-index.ts'
import { measureGrowth, measureMany } from './recall-many.ts'
import { measureOne } from './recall-one.ts'
import { measureStore } from './recall-store.ts'

const { values: options } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    only: { type: 'string', default: 'index,encoder,one,filters,several,growth,many,store' },
    items: { type: 'string' },
    databases: { type: 'string' },
    hold: { type: 'string' },
    encoder: { type: 'boolean', default: false },
  },
})
const { short, hold } = options
if (options.encoder && !ENCODER_FOLDER) throw new Error(String(NO_ENCODER))
const settings: Record<string, string> = options.encoder && ENCODER_FOLDER ? { LOCI_ENCODER: ENCODER_FOLDER } : {}
const parts = options.only.split(',')
const items = (options.items ?? (short ? '1000,15000' : '1000,15000,100000')).split(',').map(Number)
const databases = Number(options.databases ?? (short ? 200 : 10_000))
/** 10^6 records. */
const GROWN = 1_000

let isReached = true
if (parts.includes('index')) isReached = measureIndex(items) && isReached
if (parts.includes('encoder')) isReached = (await measureEncoder(items)) && isReached
for (const size of items) {
  // Smaller ones are what `many` is about.
  if (parts.includes('one') && size >= 15_000)
    isReached = (await measureOne(size, { short, hold, settings })) && isReached
}
for (const size of items) {
  if (parts.includes('filters') && size >= 15_000)
    isReached = (await measureFilters(size, { short, hold })) && isReached
}
if (parts.includes('several')) isReached = (await measureSeveral({ short, hold })) && isReached
if (parts.includes('growth'))
  isReached = (await measureGrowth(Math.min(GROWN, databases), { short, hold })) && isReached
if (parts.includes('many')) isReached = (await measureMany(databases, { short, hold })) && isReached
if (parts.includes('store')) isReached = (await measureStore({ short, settings })) && isReached
process.exit(isReached ? 0 : 1)
