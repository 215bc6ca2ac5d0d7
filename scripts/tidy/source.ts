// One TypeScript file as tidy sees it: its imports, its exports, and its code with every comment and string blanked.
//
// A scanner and not a parser: the compiler's JavaScript API is not stable, and the questions asked here (who imports
// whom, is this word code or text) need only strings, templates, comments and regular expressions told apart.

import path from 'node:path'

export type Source = {
  path: string
  text: string
  /** Same length and lines as `text`; the inside of comments, strings and regular expressions is spaces. */
  code: string
  imports: Import[]
  exports: ExportedName[]
  /** Where the string literals stand, without their quotes; of a template with `${}` its last part. */
  strings: { start: number; end: number }[]
  /** Every string literal that names a .ts file: programs are started by path as well as imported. */
  fileMentions: string[]
}

type Import = {
  specifier: string
  line: number
  typeOnly: boolean
  /** `local` is undefined where the name is only passed on, as in `export { a } from`. */
  names: { imported: string; local: string | undefined }[]
  /** `import * as`, `export *` and `import()` may use anything the file exports. */
  everything: boolean
}

type ExportedName = { name: string; line: number }

export type Tree = ReadonlyMap<string, string>

export function readSources(tree: Tree): Map<string, Source> {
  const sources = new Map<string, Source>()
  for (const [file, text] of tree) {
    if (/\.tsx?$/.test(file)) sources.set(file, readSource(file, text))
  }
  return sources
}

export function readSource(file: string, text: string): Source {
  const { code, strings } = blank(text)
  const mentions = strings
    .map((string) => text.slice(string.start, string.end))
    .filter((s) => /^[\w@./-]+\.tsx?$/.test(s))
  return {
    path: file,
    text,
    code,
    imports: readImports(text, code),
    exports: readExports(code),
    strings,
    fileMentions: mentions,
  }
}

export function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++
  return line
}

/** The text between the parenthesis at `open` and the one that closes it. Call it on blanked code only. */
export function balanced(code: string, open: number): string {
  let depth = 0
  for (let at = open; at < code.length; at++) {
    if (code[at] === '(') depth++
    if (code[at] === ')' && --depth === 0) return code.slice(open + 1, at)
  }
  return code.slice(open + 1)
}

/** The repository path of an imported file, or undefined for packages from outside the repository. */
export function resolveImport(from: string, specifier: string): string | undefined {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(from), specifier)
  const own = /^@loci\/([^/]+)(?:\/(.+))?$/.exec(specifier)
  if (!own) return undefined
  const folder = LIBRARIES.has(own[1] ?? '') ? `libs/${own[1]}` : `${own[1]}`
  return own[2] === undefined ? folder : `${folder}/${own[2]}`
}

const LIBRARIES: ReadonlySet<string> = new Set(['contract', 'meter', 'capability', 'postgres', 'chassis', 'acts'])

const NAME = String.raw`[\w$]+`
const STATIC_IMPORT = /(?<![\w$.])import\s*(type\s+(?!from\b))?([\w$*{}\s,]*?)\s*(?:\bfrom\s*)?(['"])/g
const EXPORT_FROM = /(?<![\w$.])export\s+(type\s+)?(\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})\s*from\s*(['"])/g
const CALLED_IMPORT = /(?<![\w$.])import(?:\.meta\.resolve)?\s*\(\s*(['"`])/g

function readImports(text: string, code: string): Import[] {
  const imports: Import[] = []
  const add = (match: RegExpExecArray, quote: string, rest: Pick<Import, 'typeOnly' | 'names' | 'everything'>) => {
    const start = match.index + match[0].length
    const end = code.indexOf(quote, start)
    imports.push({ specifier: text.slice(start, end), line: lineAt(text, match.index), ...rest })
  }
  for (const match of code.matchAll(STATIC_IMPORT)) {
    const clause = match[2] ?? ''
    const names = bindings(clause)
    const typeOnly = match[1] !== undefined || (names.length > 0 && everyTyped(clause))
    add(match, match[3] ?? '', { typeOnly, names, everything: clause.includes('*') })
  }
  for (const match of code.matchAll(EXPORT_FROM)) {
    const clause = match[2] ?? ''
    const names = bindings(clause).map(({ imported }) => ({ imported, local: undefined }))
    add(match, match[3] ?? '', { typeOnly: match[1] !== undefined, names, everything: clause.startsWith('*') })
  }
  for (const match of code.matchAll(CALLED_IMPORT)) {
    add(match, match[1] ?? '', { typeOnly: false, names: [], everything: true })
  }
  return imports
}

function bindings(clause: string): { imported: string; local: string }[] {
  const names: { imported: string; local: string }[] = []
  const braces = /\{([^}]*)\}/.exec(clause)
  for (const part of (braces?.[1] ?? '').split(',')) {
    const match = new RegExp(String.raw`^(?:type\s+)?(${NAME})(?:\s+as\s+(${NAME}))?$`).exec(part.trim())
    if (match?.[1]) names.push({ imported: match[1], local: match[2] ?? match[1] })
  }
  const outside = clause.replace(/\{[^}]*\}/, '')
  const star = new RegExp(String.raw`\*\s*as\s+(${NAME})`).exec(outside)
  if (star?.[1]) names.push({ imported: '*', local: star[1] })
  const first = new RegExp(`^\\s*(${NAME})`).exec(outside)
  if (first?.[1]) names.push({ imported: 'default', local: first[1] })
  return names
}

function everyTyped(clause: string): boolean {
  const inside = /^\s*\{([^}]*)\}\s*$/.exec(clause)?.[1]
  return inside?.split(',').every((part) => part.trim() === '' || part.trim().startsWith('type ')) ?? false
}

const DECLARATION =
  /(?<![\w$.])export\s+(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?(?:function\s*\*?|const|let|var|class|interface|type|enum)\s+([\w$]+)/g
const DESTRUCTURED = /(?<![\w$.])export\s+(?:const|let)\s*([{[][^=]*[}\]])\s*=/g
const EXPORT_LIST = /(?<![\w$.])export\s+(?:type\s+)?\{([^}]*)\}/g
const EXPORT_STAR_AS = /(?<![\w$.])export\s+\*\s+as\s+([\w$]+)/g
const EXPORT_DEFAULT = /(?<![\w$.])export\s+default\b/g

function readExports(code: string): ExportedName[] {
  const names: ExportedName[] = []
  const add = (name: string | undefined, offset: number) => {
    if (name) names.push({ name, line: lineAt(code, offset) })
  }
  for (const match of code.matchAll(DECLARATION)) {
    // A type that only its own file names is still part of what an exported function takes or returns.
    if (!/^export\s+(?:declare\s+)?(?:interface|type)\b/.test(match[0].trimStart())) add(match[1], match.index)
  }
  for (const match of code.matchAll(EXPORT_STAR_AS)) add(match[1], match.index)
  for (const match of code.matchAll(EXPORT_DEFAULT)) add('default', match.index)
  for (const match of code.matchAll(EXPORT_LIST)) {
    for (const part of (match[1] ?? '').split(',')) add(/([\w$]+)\s*$/.exec(part)?.[1], match.index)
  }
  for (const match of code.matchAll(DESTRUCTURED)) {
    for (const part of (match[1] ?? '').split(',')) add(/([\w$]+)\s*[}\]]*\s*$/.exec(part)?.[1], match.index)
  }
  return names
}

// A `/` begins a regular expression unless it follows something that has a value. After `<` it closes a JSX tag.
const BEFORE_DIVISION = /[\w$)\]}"'`<]$/
const KEYWORD_BEFORE_REGEX = /(?<![\w$.])(?:return|typeof|case|in|of|delete|void|throw|new|do|else|await|yield)$/

function blank(text: string): { code: string; strings: { start: number; end: number }[] } {
  const code = text.split('')
  const strings: { start: number; end: number }[] = []
  const hide = (start: number, end: number) => {
    for (let at = start; at < end; at++) if (code[at] !== '\n') code[at] = ' '
  }
  // Each open template leaves the brace depth at which its `${` ends.
  const templates: number[] = []
  let depth = 0
  let at = 0

  const template = (start: number) => {
    let end = start
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) end += text[end] === '\\' ? 2 : 1
    hide(start, end)
    if (text[end] === '`') {
      strings.push({ start, end })
      return end + 1
    }
    templates.push(depth++)
    return end + 2
  }

  while (at < text.length) {
    const char = text[at]
    if (text.startsWith('//', at)) {
      const end = endOr(text.indexOf('\n', at), text.length)
      hide(at, end)
      at = end
    } else if (text.startsWith('/*', at)) {
      const end = endOr(text.indexOf('*/', at + 2), text.length - 2) + 2
      hide(at, end)
      at = end
    } else if (char === "'" || char === '"') {
      const end = closing(text, at + 1, char)
      // An apostrophe in JSX text has no partner on its line and opens nothing.
      if (end !== undefined) {
        hide(at + 1, end)
        strings.push({ start: at + 1, end })
      }
      at = (end ?? at) + 1
    } else if (char === '`') {
      at = template(at + 1)
    } else if (char === '/' && beginsRegex(code, at)) {
      const end = closing(text, at + 1, '/') ?? at
      hide(at + 1, end)
      at = end + 1
    } else {
      if (char === '{') depth++
      if (char === '}') depth--
      at++
      if (char === '}' && templates.at(-1) === depth) {
        templates.pop()
        at = template(at)
      }
    }
  }
  return { code: code.join(''), strings }
}

function endOr(index: number, fallback: number): number {
  return index === -1 ? fallback : index
}

function closing(text: string, start: number, quote: string): number | undefined {
  let inClass = false
  for (let at = start; at < text.length && text[at] !== '\n'; at++) {
    if (text[at] === '\\') at++
    else if (quote === '/' && text[at] === '[') inClass = true
    else if (quote === '/' && text[at] === ']') inClass = false
    else if (text[at] === quote && !inClass) return at
  }
  return undefined
}

function beginsRegex(code: readonly string[], at: number): boolean {
  let end = at
  while (end > 0 && /\s/.test(code[end - 1] ?? '')) end--
  const before = code.slice(Math.max(0, end - 12), end).join('')
  return !BEFORE_DIVISION.test(before) || KEYWORD_BEFORE_REGEX.test(before)
}
