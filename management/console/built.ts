// What the build of the console left in a folder (scripts/build/console.ts): a page, and files whose names have a hash
// of what they hold. All of it is read into memory once, some megabytes, in every form that the build compressed it to.

import { hash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { html, type Policy } from '@loci/chassis/pages.ts'
import { type Published, publish } from '@loci/chassis/published.ts'

export interface BuiltConsole {
  page: Published
  /** By the path below the folder, such as `assets/main-Bx2.js`. */
  files: ReadonlyMap<string, BuiltFile>
}

export interface BuiltFile {
  contentType: string
  plain: Buffer
  /** By the name of the coding, the best first. */
  compressed: readonly (readonly ['br' | 'gzip', Buffer])[]
}

const PAGE = 'index.html'
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
  '.txt': 'text/plain; charset=utf-8',
}

/** Undefined where nothing is built. Read again when the page was built again, as `npm run dev` does. */
export function builtConsole(folder: string | undefined): () => BuiltConsole | undefined {
  let known: { built: BuiltConsole; madeAt: number } | undefined
  return () => {
    const madeAt = folder && statSync(path.join(folder, PAGE), { throwIfNoEntry: false })?.mtimeMs
    if (!folder || !madeAt) return undefined
    if (known?.madeAt !== madeAt) known = { built: readBuilt(folder), madeAt }
    return known.built
  }
}

function readBuilt(folder: string): BuiltConsole {
  const text = readFileSync(path.join(folder, PAGE), 'utf8')
  const policy = policyOf(text)
  const files = new Map<string, BuiltFile>()
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const contentType = TYPES[path.extname(name)]
    if (contentType) files.set(name.replaceAll(path.sep, '/'), readFile(path.join(folder, name), contentType))
  }
  return { page: publish(() => html(text, policy)), files }
}

function readFile(file: string, contentType: string): BuiltFile {
  const compressed = ([['br', '.br'] as const, ['gzip', '.gz'] as const] as const).flatMap(([coding, ending]) =>
    existsSync(file + ending) ? [[coding, readFileSync(file + ending)] as const] : [],
  )
  return { contentType, plain: readFileSync(file), compressed }
}

/**
 * All that the page may load, ask and send goes to our own origin. Its one script that stands inside of it (which
 * scheme to draw in, before anything is drawn) is named by its hash.
 */
function policyOf(text: string): Policy {
  const inside = [...text.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, script]) => script as string)
  const hashes = inside.map((script) => `'sha256-${hash('sha256', script, 'base64')}'`)
  return {
    'default-src': `'self'`,
    'script-src': [`'self'`, ...hashes].join(' '),
    'object-src': `'none'`,
    'form-action': `'self'`,
  }
}
