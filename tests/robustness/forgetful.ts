// A function of a running cell that has forgotten a part of its text, until it remembers.

import { runSql } from '../world/sql.ts'

export async function forgetful(url: string, name: string, from: string, to: string) {
  const [whole] = await runSql<{ text: string }>(
    url,
    `select pg_get_functiondef(oid) as text from pg_proc where proname = $1 and pronamespace = 'loci'::regnamespace`,
    [name],
  )
  const [before, after, ...more] = (whole?.text ?? '').split(from)
  if (before === undefined || after === undefined || more.length > 0)
    throw new Error(`the mutant of ${name} no longer applies: '${from}' is not there exactly once`)
  return { forget: () => runSql(url, before + to + after), remember: () => runSql(url, whole?.text as string) }
}
