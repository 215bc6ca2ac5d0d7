/**
 * What pg_dump prints, without what differs between two runs or two releases of it: its banner, its per-object
 * headings, its session settings, and the \restrict lines with their random key; and without functions, which are read
 * where they are written (functions.sql).
 */
export function normaliseDump(dump: string): string {
  const lines: string[] = []
  let quote: string | undefined
  let isFunction = false
  for (const line of dump.split('\n')) {
    const inBody = quote !== undefined
    isFunction ||= !inBody && /^(?:CREATE|COMMENT ON) FUNCTION |^(?:GRANT|REVOKE) ALL ON FUNCTION /.test(line)
    for (const [tag] of line.matchAll(/\$(?:[A-Za-z_]\w*)?\$/g)) {
      if (quote === undefined) quote = tag
      else if (quote === tag) quote = undefined
    }
    if (isFunction) {
      isFunction = quote !== undefined || !line.endsWith(';')
      continue
    }
    if (!inBody && isNoise(line)) continue
    if (!inBody && line === '' && (lines.at(-1) ?? '') === '') continue
    lines.push(line)
  }
  return `${lines.join('\n').trim()}\n`
}

function isNoise(line: string): boolean {
  return /^--|^\\(?:un)?restrict |^SET [a-z_]+ = |^SELECT pg_catalog\.set_config\(/.test(line)
}
