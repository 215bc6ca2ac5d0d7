// The mutants of the system tests replace text of the programs. Each text must still stand in its file exactly once:
// otherwise a change of the code is noticed only when the system test runs, hours later.

import { runInNewContext } from 'node:vm'
import { type Problem, packageOf } from './layers.ts'
import { lineAt, type Source, type Tree } from './source.ts'

/**
 * `file: '…', from: '…', to:` as plantMutant() takes it; the code between is blanked, so a quote in a text ends
 * nothing.
 */
const EDIT = /(?<![\w$.])file:\s*((['"`])\s*\2),\s*from:\s*([\s\S]*?),\s*to:/g

export function checkMutants(tree: Tree, sources: ReadonlyMap<string, Source>): Problem[] {
  const problems: Problem[] = []
  for (const source of sources.values()) {
    if (packageOf(source.path) !== 'tests') continue
    for (const match of source.code.matchAll(EDIT)) {
      const report = (text: string) =>
        problems.push({ path: source.path, line: lineAt(source.code, match.index), text })
      const whole = source.text.slice(match.index, match.index + match[0].length)
      const file = whole.slice(whole.search(/['"`]/) + 1).split(/['"`]/)[0] ?? ''
      const from = literal(whole.slice(whole.search(/from:/) + 5, whole.lastIndexOf(',')), match[3] ?? '')
      const text = tree.get(file)
      if (text === undefined) report(`a mutant changes ${file}, which is not there`)
      else if (from === undefined) report('write `from` of a mutant as a literal text, so that tidy can look for it')
      else if (text.split(from).length !== 2)
        report(`a mutant no longer fits: its text is not in ${file} exactly once: ${JSON.stringify(from)}`)
    }
  }
  return problems
}

/** Undefined where a name is part of it: what the text will be is not known then. */
function literal(text: string, code: string): string | undefined {
  if (!/^[\s'"`+]*$/.test(code)) return undefined
  return runInNewContext(`(${text})`) as string
}
