// The blocks of code of a document: fenced ones with the language that they name, and indented ones, which are for a
// shell.

import { readFileSync } from 'node:fs'
import path from 'node:path'

const ROOT = path.resolve(import.meta.dirname, '../..')

export interface DocumentBlock {
  file: string
  /** The heading that it stands under, without its marks. */
  heading: string
  line: number
  /** What stands behind the fence: '' where nothing does. */
  language: string
  code: string
}

export function readDocument(file: string): DocumentBlock[] {
  return blocksIn(readFileSync(path.join(ROOT, file), 'utf8'), file)
}

export function blocksIn(text: string, file: string): DocumentBlock[] {
  const blocks: DocumentBlock[] = []
  let heading = ''
  let open: { line: number; language: string; mark: string; lines: string[] } | undefined
  const close = () => {
    while (open?.lines.at(-1)?.trim() === '') open.lines.pop()
    if (open) blocks.push({ file, heading, line: open.line, language: open.language, code: open.lines.join('\n') })
    open = undefined
  }
  let before = ''
  for (const [at, line] of text.split('\n').entries()) {
    const [, mark, language = ''] = /^(```+)(.*)$/.exec(line) ?? []
    if (open?.mark) {
      if (line === open.mark) close()
      else open.lines.push(line)
    } else if (mark) {
      close()
      open = { line: at + 1, language: language.trim(), mark, lines: [] }
    } else if (open && (line.startsWith('    ') || line.trim() === '')) {
      open.lines.push(line.slice(4))
    } else {
      close()
      if (line.startsWith('#')) heading = line.replace(/^#+ /, '')
      // A list indents its own text by less, so four blanks behind an empty line are a block.
      if (line.startsWith('    ') && before.trim() === '')
        open = { line: at + 1, language: 'sh', mark: '', lines: [line.slice(4)] }
    }
    before = line
  }
  close()
  return blocks
}

/** What a shell is given of a document, or of one of its sections. */
export function shellOf(file: string, section?: string): string {
  return readDocument(file)
    .filter(({ language, heading }) => language === 'sh' && (section === undefined || heading === section))
    .map(({ code }) => code)
    .join('\n')
}
