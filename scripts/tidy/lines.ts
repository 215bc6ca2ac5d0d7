// `node scripts/tidy.ts --lines`: product lines of each package, by which a redesign is measured. Tests, what tests
// share and generated files are not product.

import { isTest, isTopFloor, packageOf } from './layers.ts'
import type { Tree } from './source.ts'

export interface Size {
  files: number
  lines: number
  sql: number
}

export function productLines(tree: Tree): Map<string, Size> {
  const sizes = new Map<string, Size>()
  for (const [file, text] of tree) {
    if (!/\.(?:tsx?|sql)$/.test(file) || isTest(file) || isTopFloor(file) || isGenerated(file, text)) continue
    const size = sizes.get(packageOf(file)) ?? { files: 0, lines: 0, sql: 0 }
    sizes.set(packageOf(file), size)
    const lines = text.split('\n').length - 1
    size.files += 1
    if (file.endsWith('.sql')) size.sql += lines
    else size.lines += lines
  }
  return sizes
}

export function isGenerated(file: string, text: string): boolean {
  return /\/schema\.sql$/.test(file) || text.startsWith('// Generated from ')
}
