import { resolve } from 'node:path'
import { usage } from '../failure.ts'
import type { Call } from '../tree/command.ts'
import { readText } from '../up/files.ts'

/** The address of PostgreSQL for its administrator, from the file of --database-url-file; undefined without it. */
export function administrator(call: Call): string | undefined {
  const file = call.text('database-url-file')
  if (file === undefined) return undefined
  const url = readText(resolve(call.host.cwd, file))
  if (!url || !/^postgres(ql)?:\/\//.test(url)) throw usage(`${file} holds no address that begins with postgres://`)
  return url
}
