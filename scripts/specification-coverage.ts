// Which test asserts which statement of the specification. A comment `// specification 166 167` says so, right above a
// test or, inside of one, above the assertion itself, by the numbers of docs/specification-statements.json;
// `npm run promises -- specification` prints a table of both. A statement that no test names is a problem, and so are a
// number that nobody knows and more than five numbers in one comment: a promise without an assertion is a wish.

export interface Statement {
  id: number
  section: string
  statement: string
  /** Where the product reads the statement narrower, or otherwise, than its words: how, and why. */
  reading?: string
}

export interface Coverage {
  page: string
  problems: string[]
}

const COMMENT = /^\s*(?:\/\/|\/\*|\*)/
const IDS_MAX = 5
const MARKER = /^\s*\/\/ specification ((?:\d+[ ,]*)+)$/
const TEST = /^\s*test\(\s*$|^\s*test\(\s*(['"`])(.*)\1,?/

/** `tests`: path and text of every test file. */
export function specificationCoverage(statements: Statement[], tests: ReadonlyMap<string, string>): Coverage {
  const problems: string[] = []
  const known = new Map(statements.map((one) => [one.id, one]))
  const asserted = new Map<number, string[]>()
  for (const [path, text] of [...tests].sort(([a], [b]) => (a < b ? -1 : 1))) {
    for (const { ids, title } of markersIn(text)) {
      const marker = `${path}: '// specification ${ids.join(' ')}'`
      if (title === undefined) problems.push(`${marker} stands above no test and in none`)
      if (ids.length > IDS_MAX)
        problems.push(`${marker} has more than ${IDS_MAX} numbers: put them above their assertions`)
      for (const id of title === undefined ? [] : ids) {
        if (!known.has(id)) problems.push(`${path}: there is no statement ${id} in docs/specification-statements.json`)
        asserted.set(id, [...new Set([...(asserted.get(id) ?? []), `\`${path}\` ${title}`])])
      }
    }
  }
  for (const { id, statement } of statements)
    if (!asserted.has(id)) problems.push(`no test names statement ${id}: ${statement}`)
  return { page: pageOf(statements, asserted), problems }
}

function markersIn(text: string): { ids: number[]; title: string | undefined }[] {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    const marker = MARKER.exec(line)
    if (!marker) return []
    const ids = (marker[1] as string).split(/[ ,]+/).filter(Boolean).map(Number)
    const next = lines.slice(at + 1).findIndex((below) => !COMMENT.test(below))
    return [{ ids, title: titleAt(lines, at + 1 + next) ?? (/^\s/.test(line) ? titleAbove(lines, at) : undefined) }]
  })
}

/** The test that holds the line. */
function titleAbove(lines: string[], at: number): string | undefined {
  return titleAt(
    lines,
    lines.findLastIndex((line, index) => index < at && /^(test\(|\}\))/.test(line)),
  )
}

function titleAt(lines: string[], at: number): string | undefined {
  const found = TEST.exec(lines[at] ?? '')
  if (!found) return undefined
  // A long title stands on the line below.
  const title = found[2] ?? /^\s*(['"`])(.*)\1,$/.exec(lines[at + 1] ?? '')?.[2]
  return title?.replaceAll('|', '\\|')
}

function pageOf(statements: Statement[], asserted: ReadonlyMap<number, string[]>): string {
  const read = statements.filter(({ reading }) => reading !== undefined)
  const rows = statements.map(({ id, section, statement, reading }) => {
    const words = reading === undefined ? statement : `${statement}<br>*read as*: ${reading}`
    return `| ${id} | ${section} | ${words} | ${(asserted.get(id) ?? ['**none**']).join('<br>')} |`
  })
  return `# The specification, statement by statement

Each of the ${statements.length} statements of the specification and the test that asserts it. ${read.length} of them are read narrower, or otherwise,
than their words say: those have a line that says how. Sources: \`docs/specification-statements.json\` (the statements, in
our words) and the comments \`// specification N\` above tests and assertions. \`npm run check\` fails when a statement has
no test.

| # | section | statement | asserted by |
|---|---|---|---|
${rows.join('\n')}
`
}
