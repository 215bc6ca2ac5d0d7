// Where items come from: a file, read as it comes, or pages of an API. What a file is, its first bytes say.

import { createReadStream } from 'node:fs'
import { basename } from 'node:path'
import { createGunzip } from 'node:zlib'
import { CommandFailure, usage } from '../failure.ts'
import { jsonItems } from './json-items.ts'
import { type Ask, type Item, isObject, type Kind } from './kind.ts'
import { csvItems, lineItems } from './rows.ts'

/** As much as must be seen to tell a document from documents in lines. */
const HEAD_CHARS = 1024 * 1024

export async function* itemsOfFile(file: string, kind: Kind, signal: AbortSignal): AsyncGenerator<Item> {
  const chunks = textOf(file, signal)
  const head = await headOf(chunks)
  if (head.trim() === '') throw new CommandFailure('usage', 'EMPTY_FILE', `${file} is empty.`)
  const whole = joined(head, chunks)
  const form = formOf(head, kind)
  yield* form === 'lines' ? lineItems(whole) : form === 'table' ? csvItems(whole) : jsonItems(whole)
}

async function* textOf(file: string, signal: AbortSignal): AsyncGenerator<string> {
  // A file that cannot be opened is told by its first read.
  const bytes = bytesOf(file, signal)
  const first = await bytes.next()
  const head = first.done ? Buffer.alloc(0) : first.value
  if (head.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004')))
    throw usage(
      `${file} is a zip archive.`,
      `Take the file out of it that is to be read: unzip -p ${basename(file)} conversations.json > conversations.json`,
    )
  const isGzip = head[0] === 0x1f && head[1] === 0x8b
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const read = (chunk?: Buffer) => {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw usage(`${file} is not UTF-8 text.`)
    }
  }
  for await (const chunk of isGzip ? unzipped(file, head, bytes) : joined(head, bytes)) yield read(chunk)
  yield read()
}

async function* bytesOf(file: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024, signal })) yield chunk as Buffer
  } catch (error) {
    const { name, code } = error as NodeJS.ErrnoException
    if (name === 'AbortError' || code === undefined) throw error
    throw usage(`${file} cannot be read (${code}).`)
  }
}

async function* unzipped(file: string, head: Buffer, bytes: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const { Readable } = await import('node:stream')
  const plain = createGunzip()
  const source = Readable.from(joined(head, bytes)).on('error', (error) => plain.destroy(error))
  source.pipe(plain)
  try {
    for await (const chunk of plain) yield chunk as Buffer
  } catch (error) {
    if (!/^Z_/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
    throw usage(`${file} is gzip, and damaged or cut off.`)
  }
}

async function* joined<Chunk>(head: Chunk, rest: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  yield head
  yield* rest
}

/** To the end of the first line that says something, or so much of it. */
async function headOf(chunks: AsyncGenerator<string>): Promise<string> {
  let head = ''
  while (head.length < HEAD_CHARS && !hasLine(head)) {
    const next = await chunks.next()
    if (next.done) break
    head += next.value
  }
  return head.replace(/^\ufeff/, '')
}

function hasLine(text: string): boolean {
  const begin = text.search(/\S/)
  return begin >= 0 && text.includes('\n', begin)
}

function formOf(head: string, { lists, name }: Kind): 'document' | 'lines' | 'table' {
  const begins = head.trimStart()
  if (begins.startsWith('[')) return 'document'
  if (!begins.startsWith('{')) {
    if (name === 'langgraph' && /^"?\w+"?,/.test(begins)) return 'table'
    throw usage(
      'It is neither JSON nor JSON lines.',
      `loci import ${name} reads no other form; docs/import.md says which.`,
    )
  }
  const [line = ''] = begins.split('\n', 1)
  try {
    const value: unknown = JSON.parse(line)
    const hasList = isObject(value) && lists.some((list) => Array.isArray(value[list]))
    return hasList && begins.slice(line.length).trim() === '' ? 'document' : 'lines'
  } catch {
    return 'document' // It goes on in the next line.
  }
}

const TRIES = 6
const WAIT_MS_MAX = 30_000
const ANSWER_MS = 60_000

/** Asks the server of the address alone, again where it asks for patience or is away. */
export function askAt(url: URL, signal: AbortSignal): Ask {
  return async ({ path, body, headers = {} }) => {
    const address = new URL(path, url.origin)
    for (let tries = 1; ; tries += 1) {
      const answer = await tried(address, body, headers, signal)
      if (typeof answer === 'object' && answer.ok) return jsonOf(address, answer)
      const status = typeof answer === 'string' ? answer : String(answer.status)
      const mayBeAgain = typeof answer === 'string' || answer.status === 429 || answer.status >= 500
      if (!mayBeAgain || tries === TRIES) throw refused(address, status)
      const told = typeof answer === 'string' ? undefined : Number(answer.headers.get('retry-after'))
      const waitMs = told ? told * 1_000 : 250 * 2 ** tries
      await new Promise((resolve) => setTimeout(resolve, Math.min(waitMs, WAIT_MS_MAX)))
      signal.throwIfAborted()
    }
  }
}

async function tried(
  address: URL,
  body: unknown,
  headers: Record<string, string>,
  signal: AbortSignal,
): Promise<Response | string> {
  const sent = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const json: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
  try {
    return await fetch(address, {
      ...sent,
      headers: { accept: 'application/json', ...json, ...headers },
      // Where it points must not be sent the key.
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    })
  } catch (error) {
    signal.throwIfAborted()
    const cause = (error as Error).cause as NodeJS.ErrnoException | undefined
    return cause?.code ?? 'no answer in time'
  }
}

async function jsonOf(address: URL, answer: Response): Promise<unknown> {
  try {
    return await answer.json()
  } catch {
    throw new CommandFailure(
      'unexpected',
      'SOURCE_UNEXPECTED',
      `${address.origin}${address.pathname} answered no JSON.`,
    )
  }
}

function refused({ origin, pathname }: URL, status: string): CommandFailure {
  const message = `The source did not answer: ${origin}${pathname} (${status}).`
  if (status === '401' || status === '403')
    return new CommandFailure('credential', 'SOURCE_REFUSED', message, {
      hint: '--key-file names a file with its key.',
    })
  if (/^\d+$/.test(status)) return new CommandFailure('unexpected', 'SOURCE_REFUSED', message)
  return new CommandFailure('unavailable', 'SOURCE_UNREACHABLE', message, {
    hint: 'Is the address right, and does it run?',
  })
}
