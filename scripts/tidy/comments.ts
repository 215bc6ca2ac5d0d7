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

interface Wording {
  /** The name of what is counted, for the report. */
  what: string
  pattern: RegExp
  max: number
}

/**
 * A comment is a sentence with a subject and a verb, in plain technical English: a reader who sees nothing else must
 * understand it. What stands there was counted when the rule came; the numbers only fall.
 */
const WORDINGS: readonly Wording[] = [
  {
    what: "comments that begin with 'Of', 'As', 'What', 'Who' or 'Those'",
    pattern: /^(?:Of|As|What|Who|Whoever|Whose|Those)\b/,
    max: 1_481,
  },
  {
    what: "lines of comments with 'told', 'said', 'heard', 'whoever' or 'turn'",
    pattern: /\b(?:told|said|heard|whoever|turns?)\b/i,
    max: 521,
  },
]
const PRODUCT =
  /^(?:libs|sdk|daemon|management|console|cli)\/(?!.*(?:\.test\.tsx?$|\/testing\/|\/migrations\/)).*\.(?:tsx?|sql)$/
const COMMENT = /^\s*(?:\/\/|\/\*\*?|\*|--)\s?(.*)$/

export function checkWordings(tree: Tree, wordings = WORDINGS): Problem[] {
  const counts = wordings.map(() => 0)
  for (const [file, text] of tree) {
    if (!PRODUCT.test(file) || file.endsWith('/schema.sql') || isGenerated(file, text)) continue
    const lines = text.split('\n').map((line) => COMMENT.exec(line)?.[1])
    for (const [at, line] of lines.entries()) {
      if (line === undefined) continue
      const isFirst = lines[at - 1] === undefined || lines[at - 1] === ''
      for (const [n, { pattern }] of wordings.entries())
        if ((isFirst || !pattern.source.startsWith('^')) && pattern.test(line)) counts[n] = (counts[n] ?? 0) + 1
    }
  }
  return wordings.flatMap(({ what, max }, n) =>
    (counts[n] ?? 0) > max
      ? [
          {
            path: 'scripts/tidy/comments.ts',
            line: 1,
            text: `${counts[n]} ${what}, at most ${max}: write a sentence with a subject and a verb`,
          },
        ]
      : [],
  )
}
