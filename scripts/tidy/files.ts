// What can be said of a file without reading it as code: its name, its length, and words that must not be in it.

import type { Problem } from './layers.ts'
import { isGenerated } from './lines.ts'
import type { Tree } from './source.ts'

const LINES_MAX = 400

const NAMELESS = new Set(['utils', 'util', 'helpers', 'helper', 'common', 'types'])
const LAYERS = new Set(['controllers', 'services', 'repositories'])
/** Folders that carry a layer's name because the API has that noun. */
const NOUNS = new Set(['management/services', 'console/pages/services'])

/** Read by a Node that cannot read TypeScript: they say that it is too old, or run in an editor of somebody else. */
const READ_BY_OLD_NODES =
  /^(?:(?:libs\/chassis|daemon|management)\/start\.cjs|integrations\/claude-code\/scripts\/\w+\.mjs)$/

export function checkNames(tree: Tree): Problem[] {
  const problems: Problem[] = []
  for (const file of tree.keys()) {
    if (!/\.(?:tsx?|[cm]?js|jsx)$/.test(file)) continue
    const report = (text: string) => problems.push({ path: file, line: 1, text })
    const folders = file.split('/')
    const name = folders.pop() ?? ''
    const stem = name.replace(/(?:\.test|\.d)?\.\w+$/, '')
    for (const [depth, folder] of folders.entries()) {
      const noun = NOUNS.has(folders.slice(0, depth + 1).join('/'))
      if (NAMELESS.has(folder)) report(`folder '${folder}' says nothing; name it for what it holds`)
      if (LAYERS.has(folder) && !noun) report(`folder '${folder}' is a layer; put the code into its feature's folder`)
    }
    if (NAMELESS.has(stem)) report(`'${name}' says nothing; name it for what it holds`)
    if (stem === 'index') report('an index file is a barrel; import the files themselves')
    if (!/\.tsx?$/.test(name) && !READ_BY_OLD_NODES.test(file))
      report(`'${name}' is not TypeScript; write .ts, node runs it as it is`)
  }
  return problems
}

export function checkLengths(tree: Tree): Problem[] {
  const problems: Problem[] = []
  for (const [file, text] of tree) {
    if (!/\.tsx?$|\/functions\.sql$/.test(file) || isGenerated(file, text)) continue
    const lines = text.split('\n').length - 1
    if (lines <= LINES_MAX) continue
    const problem = `${lines} lines, at most ${LINES_MAX}; find the second idea inside it`
    problems.push({ path: file, line: LINES_MAX, text: problem })
  }
  return problems
}

// Written in pieces, so that this file does not contain what it looks for.
const MACHINE_PATH = new RegExp(`(?<![\\w.~-])/(?:${['work', 'root', 'home/[a-z][\\w.-]*'].join('|')})/`)
const REGISTRIES = [
  'registry[.]npmjs[.]org',
  'registry[.][a-z0-9-]+[.](?:com|org|io|net|dev)',
  'npm[.]pkg[.]github[.]com',
  'pypi[.]org',
]
const REGISTRY = new RegExp(`\\b(?:${REGISTRIES.join('|')})\\b|^\\s*registry\\s*=`, 'i')

export function checkPlaces(tree: Tree): Problem[] {
  const problems: Problem[] = []
  for (const [file, text] of tree) {
    if (text.includes('\0')) continue
    for (const [index, line] of text.split('\n').entries()) {
      const report = (problem: string) => problems.push({ path: file, line: index + 1, text: problem })
      const place = MACHINE_PATH.exec(line)
      if (place) report(`names a path of one machine ('${place[0]}'); write it relative to the checkout`)
      if (REGISTRY.test(line)) report('names a package registry; leave that to the machine that installs')
    }
  }
  return problems
}
