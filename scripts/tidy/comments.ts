// Comments within the columns of the code, in SQL too: the formatter leaves them alone.

import type { Problem } from './layers.ts'
import { isGenerated } from './lines.ts'
import type { Tree } from './source.ts'

const COLUMNS_MAX = 120

/** The formatter keeps code within its columns and leaves comments alone. */
export function checkComments(tree: Tree): Problem[] {
  const problems: Problem[] = []
  for (const [file, text] of tree) {
    if (!/\.(?:tsx?|sql)$/.test(file) || isGenerated(file, text)) continue
    for (const [index, line] of text.split('\n').entries()) {
      if (line.length <= COLUMNS_MAX || !/^\s*(?:\/\/|\/\*|\*|--)/.test(line) || /\bhttps?:\/\/\S{60}/.test(line))
        continue
      problems.push({
        path: file,
        line: index + 1,
        text: `a comment of ${line.length} columns, at most ${COLUMNS_MAX}`,
      })
    }
  }
  return problems
}
