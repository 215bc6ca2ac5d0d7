// Plain JavaScript from our TypeScript: the types are blanked, so every line stays where it is and a stack trace of a
// package reads like one of the checkout; imports of our own packages become relative ones.

import { readFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { readSource, resolveImport } from '../tidy/source.ts'

export interface Built {
  /** By its path in the package. */
  files: Map<string, string>
  /** The packages of others that it imports, each with the workspace whose manifest has its version. */
  imported: Map<string, string>
  /** Where each file came from. */
  sources: Set<string>
}

/** The files that `roots` reach by imports and by paths they start others with. Roots are paths in the repository. */
export function buildJavascript(top: string, roots: readonly string[]): Built {
  const built: Built = { files: new Map(), imported: new Map(), sources: new Set() }
  const open = [...roots]
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (built.sources.has(file)) continue
    built.sources.add(file)
    const text = readFileSync(path.join(top, file), 'utf8')
    // A manifest is read for its version alone; its name and dependencies are those of a workspace.
    if (path.basename(file) === 'package.json') built.files.set(file, manifestOf(text))
    else if (!/\.(ts|cjs)$/.test(file)) built.files.set(file, text)
    else {
      const { code, reached, packages } = rewrite(file, file.endsWith('.ts') ? stripped(text) : text)
      built.files.set(jsName(file), code)
      open.push(...reached)
      for (const name of packages) built.imported.set(name, workspaceOf(file))
    }
  }
  return built
}

/** Imports with `.ts` become `.js`, and those of our packages relative; `relativeOnly` leaves the ending. */
export function rewrite(
  file: string,
  text: string,
  { ending = jsName }: { ending?: (specifier: string) => string } = {},
): { code: string; reached: string[]; packages: string[] } {
  const { strings, imports } = readSource(file, text)
  const specifiers = new Set(imports.map(({ specifier }) => specifier))
  const reached: string[] = []
  let code = ''
  let at = 0
  for (const { start, end } of strings.toSorted((a, b) => a.start - b.start)) {
    const literal = text.slice(start, end)
    const isFile = /^(?:\.{1,2}\/|@loci\/)[\w@./-]+\.(?:ts|cjs|json)$/.test(literal)
    if (!isFile || start < at) continue
    const target = resolveImport(file, literal) as string
    reached.push(target)
    const from = path.posix.relative(path.posix.dirname(file), target)
    code += text.slice(at, start) + ending(from.startsWith('.') ? from : `./${from}`)
    at = end
  }
  const packages = [...specifiers].filter((name) => !/^(?:\.|node:|@loci\/)/.test(name)).map(packageOf)
  return { code: code + text.slice(at), reached, packages }
}

function jsName(file: string): string {
  return file.replace(/\.ts$/, '.js')
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}

function workspaceOf(file: string): string {
  const parts = file.split('/')
  return parts.slice(0, parts[0] === 'libs' ? 2 : 1).join('/')
}

function manifestOf(text: string): string {
  const { version, type } = JSON.parse(text) as { version: string; type: string }
  return `${JSON.stringify({ version, type, private: true })}\n`
}

/** Lines that held nothing but types become empty and are not carried around as spaces. */
function stripped(text: string): string {
  const before = text.split('\n')
  return stripTypeScriptTypes(text)
    .split('\n')
    .map((line, at) => (line === before[at] ? line : line.trimEnd()))
    .join('\n')
}
