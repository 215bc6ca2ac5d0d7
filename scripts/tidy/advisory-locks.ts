// The numbers of advisory locks: one list, no number twice, none anywhere else but in SQL functions, which cannot
// import it.

import type { Problem } from './layers.ts'
import { lineAt, type Tree } from './source.ts'

const LIST = 'libs/postgres/advisory-locks.ts'
const NUMBER = /\b7_?026_?300_?(\d{3})\b/g

export function checkAdvisoryLocks(tree: Tree): Problem[] {
  const problems: Problem[] = []
  const known = new Set<string>()
  for (const match of (tree.get(LIST) ?? '').matchAll(NUMBER)) {
    const line = lineAt(tree.get(LIST) ?? '', match.index)
    if (known.has(match[1] ?? '')) problems.push({ path: LIST, line, text: `${match[0]} has two meanings` })
    known.add(match[1] ?? '')
  }
  for (const [file, text] of tree) {
    const isSql = /\/functions\.sql$/.test(file)
    if (file === LIST || !(isSql || /\.ts$/.test(file)) || file.startsWith('scripts/tidy/')) continue
    const report = (at: number, problem: string) => problems.push({ path: file, line: lineAt(text, at), text: problem })
    for (const match of text.matchAll(NUMBER)) {
      if (!isSql) report(match.index, `import the number of an advisory lock from ${LIST}`)
      else if (!known.has(match[1] ?? '')) report(match.index, `${match[0]} is not in ${LIST}; give it a meaning there`)
    }
    if (!isSql) continue
    for (const match of text.matchAll(/pg_(?:try_)?advisory\w*\s*\((?![^;]*7026300)[^;]*/g))
      report(
        match.index,
        `an advisory lock without a number of ${LIST}; two that hash the same would wait for each other`,
      )
  }
  return problems
}
