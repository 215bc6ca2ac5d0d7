// Memories of another product, or of an export of a person's, as records of this service.

import { readFileSync } from 'node:fs'
import { isAbsolute, resolve } from 'node:path'
import { usage } from '../failure.ts'
import type { Kind } from '../import/kind.ts'
import { kindOf } from '../import/kinds.ts'
import { reportLines, tallyOf } from '../import/report.ts'
import { choosing, runImport } from '../import/run.ts'
import { askAt, itemsOfFile } from '../import/source.ts'
import { writerTo } from '../import/writer.ts'
import { userOf, withService } from '../profiles/connection.ts'
import type { Call, Result } from '../tree/command.ts'
import { argument } from './given.ts'

export async function importFrom(call: Call): Promise<Result> {
  const kind = kindOf(argument(call, 0))
  const source = argument(call, 1)
  const fields = call.list('users-from')
  const user = call.text('user') === undefined ? undefined : userOf(call)
  if (user !== undefined && fields.length > 0) throw usage('--user or --users-from, not both.')
  if (kind.name === 'langgraph' && user === undefined && fields.length === 0)
    throw usage(
      'Whose an item is stands in its namespace, or nowhere.',
      'Say which level it is: --users-from namespace.0 or namespace.1, or that all is one person’s: --user ada.',
    )
  const signal = call.host.signal
  const items = itemsOf(call, kind, source)
  const isDry = call.has('dry-run')
  const tally = tallyOf({ kind: kind.name, source, isDry })
  const whose = choosing(kind, { user, fields, fallback: user ?? userOf(call) })
  const say = (line: string) => call.say(line)
  const done = (): Result => {
    const report = tally.report()
    return { data: report, lines: reportLines(report) }
  }
  if (isDry) {
    await runImport({ kind, items, tally, writer: undefined, whose, say, signal })
    return done()
  }
  return withService(call, async (service) => {
    await runImport({ kind, items, tally, writer: writerTo(service, tally, signal), whose, say, signal })
    return done()
  })
}

function itemsOf(call: Call, kind: Kind, source: string): Parameters<typeof runImport>[0]['items'] {
  const { signal, cwd } = call.host
  if (/^postgres(?:ql)?:/.test(source))
    throw usage(
      'loci does not connect to the database of a source.',
      'psql "$URL" -At -c "select row_to_json(s) from store s" > store.ndjson\nloci import langgraph store.ndjson …',
    )
  if (!/^https?:/.test(source)) {
    if (call.text('key-file') !== undefined) throw usage('--key-file is for the address of an API.')
    return itemsOfFile(isAbsolute(source) ? source : resolve(cwd, source), kind, signal)
  }
  if (!kind.pages) throw usage(`${kind.name} is read from a file, not from an address.`)
  if (!URL.canParse(source)) throw usage('The address is not one.')
  const url = new URL(source)
  if (url.username !== '' || url.password !== '')
    throw usage('A key does not stand in an address, where others see it.', '--key-file names a file with it.')
  return kind.pages(url, askAt(url, signal), keyOf(call))
}

function keyOf(call: Call): string | undefined {
  const file = call.text('key-file')
  if (file === undefined) return undefined
  try {
    return readFileSync(resolve(call.host.cwd, file), 'utf8').trim()
  } catch (error) {
    throw usage(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}
