// The types of a package: its sources with relative imports, through the compiler.

import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { rewrite } from './javascript.ts'

/** Declarations of everything that `roots` reach, types included, by their paths in the package. */
export function buildDeclarations(top: string, roots: readonly string[]): Map<string, string> {
  // Below the checkout, where the compiler finds the types of Node.
  const base = path.join(top, 'node_modules/.cache')
  mkdirSync(base, { recursive: true })
  const stage = mkdtempSync(path.join(base, 'loci-types-'))
  try {
    const seen = new Set<string>()
    const open = [...roots]
    for (let file = open.pop(); file !== undefined; file = open.pop()) {
      if (seen.has(file) || !file.endsWith('.ts')) continue
      seen.add(file)
      const { code, reached } = rewrite(file, readFileSync(path.join(top, file), 'utf8'), { ending: (name) => name })
      const place = path.join(stage, 'src', file)
      mkdirSync(path.dirname(place), { recursive: true })
      writeFileSync(place, code)
      open.push(...reached)
    }
    const compilerOptions = {
      ...(JSON.parse(readFileSync(path.join(top, 'tsconfig.json'), 'utf8')) as { compilerOptions: object })
        .compilerOptions,
      ...{ noEmit: false, declaration: true, emitDeclarationOnly: true, rewriteRelativeImportExtensions: true },
      ...{ rootDir: 'src', outDir: 'types' },
    }
    writeFileSync(path.join(stage, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }))
    const compiler = path.join(top, 'node_modules/typescript/bin/tsc')
    execFileSync(process.execPath, [compiler, '-p', stage], {
      encoding: 'utf8',
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    const types = path.join(stage, 'types')
    const made = readdirSync(types, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.d.ts'))
    return new Map(made.map((name) => [name, declared(name, readFileSync(path.join(types, name), 'utf8'))]))
  } finally {
    rmSync(stage, { recursive: true, force: true })
  }
}

/** The compiler leaves the endings of imports in declarations. */
function declared(name: string, text: string): string {
  return rewrite(name, text).code
}
