// Beside Claude Code, after a hook has gone: stores what the person said since the last time. Nobody waits for it.

import { open } from 'node:fs/promises'
import { meantBy, reach } from './connection.mjs'
import { ask } from './exchange.mjs'
import { dropOld, keptAt, noteProblem } from './kept.mjs'
import { databaseOf } from './project.mjs'
import { saidIn } from './said.mjs'

const BATCH_MAX = 50
const CHUNK = 1_000_000
/** A result of a tool may be larger; what a person typed is not. */
const LINE_MAX = 2_000_000
const REACH_MS = 10_000
const STORE_MS = 20_000
const LIFE_MS = 120_000

const env = process.env
const { event, session, transcript, directory } = JSON.parse(process.argv[2] ?? '{}')
setTimeout(() => process.exit(0), LIFE_MS).unref()
try {
  await run()
} catch (error) {
  noteProblem(env, event, error.message)
}

async function run() {
  const database = databaseOf(env, directory)
  const meant = meantBy(env, directory)
  if (!database || !meant) return
  const place = await reach(env, meant, REACH_MS)
  // Asked for by a hook that had no time to wait for a capability.
  if (event === 'warm') return
  const kept = keptAt(env, `session-${session}`)
  const { stored = 0 } = kept.read()
  let batch = []
  let at = stored
  const flush = async () => {
    if (batch.length > 0) await store(place, database, batch)
    batch = []
    // Only what is stored, or refused for good, is not asked again.
    if (at > stored) kept.write({ stored: at })
  }
  for await (const { line, end } of linesOf(transcript, stored)) {
    const said = saidIn(line)
    if (said) batch.push(said)
    at = end
    if (batch.length >= BATCH_MAX) await flush()
  }
  await flush()
  dropOld(env)
}

/** Whole lines from a position on, with where each ends. A file that is shorter than that is another one. */
async function* linesOf(file, from) {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    let at = from > size ? 0 : from
    let rest = []
    let length = 0
    for (;;) {
      const { bytesRead, buffer } = await handle.read(Buffer.alloc(CHUNK), 0, CHUNK, at)
      if (bytesRead === 0) return
      let start = 0
      for (let end = buffer.indexOf(10); end !== -1 && end < bytesRead; end = buffer.indexOf(10, start)) {
        const whole = length + end - start <= LINE_MAX
        const line = whole ? Buffer.concat([...rest, buffer.subarray(start, end)]).toString('utf8') : ''
        start = end + 1
        rest = []
        length = 0
        yield { line, end: at + start }
      }
      length += bytesRead - start
      if (length <= LINE_MAX) rest.push(buffer.subarray(start, bytesRead))
      else rest = []
      at += bytesRead
    }
  } finally {
    await handle.close()
  }
}

/** All or nothing by the server; what one record is refused for does not keep the others away. */
async function store(place, database, records) {
  if (records.length === 0) return
  const { status, body } = await ask('POST', `${place.endpoint}/v1/memory/records/batch`, {
    headers: { 'x-loci-capability': place.token, 'x-loci-database': database },
    body: { records },
    ms: STORE_MS,
  })
  if (status >= 200 && status < 300) return
  if ([401, 403, 421].includes(status)) place.renew()
  // Forgotten once, or of a form that the server does not take.
  if (![400, 409, 410, 413, 422].includes(status)) throw new Error(`the daemon answers ${status}`)
  const index = body?.error?.details?.index
  if (records.length === 1) return
  if (Number.isInteger(index) && index < records.length) return store(place, database, records.toSpliced(index, 1))
  const half = records.length >> 1
  await store(place, database, records.slice(0, half))
  await store(place, database, records.slice(half))
}
