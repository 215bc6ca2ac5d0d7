// npm run bench -- rank [--short] [--only fold,http]
//
// fold    processor time of a rank at 200 and 4,000 tools, and whether it grows with the outcomes that were folded
// http    rank over HTTP at 200 and 4,000 tools: alone after few and many outcomes, while 500 a second are told, and
//         the first of a new process, with what others notice of it

import { parseArgs } from 'node:util'
import { measureFold } from './rank-fold.ts'
import { measureHttp } from './rank-http.ts'

const { values: options } = parseArgs({
  options: { short: { type: 'boolean', default: false }, only: { type: 'string', default: 'fold,http' } },
})
const { short } = options
const parts = options.only.split(',')

let isReached = true
if (parts.includes('fold')) isReached = measureFold({ short }) && isReached
if (parts.includes('http')) isReached = (await measureHttp({ short })) && isReached
process.exit(isReached ? 0 : 1)
