// How results look to people: plain columns, no colours.

export function columns(rows: readonly (readonly string[])[], head?: readonly string[]): string[] {
  const all = head ? [head, ...rows] : rows
  const widths = all.reduce<number[]>((known, row) => row.map((cell, at) => Math.max(known[at] ?? 0, cell.length)), [])
  return all.map((row) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}

/** Numbers, texts and lists of an object, a line each. */
export function fields(value: object): string[] {
  return columns(Object.entries(value).map(([name, one]) => [name, shownValue(one)]))
}

function shownValue(value: unknown): string {
  if (value === null || value === undefined) return '-'
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** .82, as a share of one. */
export function share(value: number): string {
  return value >= 0.995 ? '1.0' : value.toFixed(2).replace(/^0/, '')
}

export function ago(at: string): string {
  const seconds = Math.max(0, Math.round((Date.now() - Date.parse(at)) / 1_000))
  if (seconds < 90) return `${seconds} s ago`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h ago`
  return `${Math.round(seconds / 86_400)} days ago`
}

/** In one line. */
export function short(text: string, max = 100): string {
  const line = text.replaceAll(/\s+/g, ' ').trim()
  return line.length <= max ? line : `${line.slice(0, max - 1)}…`
}
