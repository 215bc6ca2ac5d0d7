// Which block of which document is run by what, names what is there, or has its reason.

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type DocumentBlock, readDocument } from './blocks.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')

export interface Runner {
  file: string
  /** A system test that is a stage of .ci/run, and reads the document by its name. */
  by: string
  /** The file in which it does. */
  reads?: string
  languages: readonly string[]
  headings?: RegExp
}

export const RUNNERS: readonly Runner[] = [
  { file: 'README.md', by: 'tour', languages: ['sh'], headings: /^Ten lines/ },
  { file: 'README.md', by: 'packages', languages: ['ts'] },
  { file: 'docs/tour.md', by: 'tour', languages: ['sh'] },
  { file: 'docs/people.md', by: 'tour', languages: ['sh'] },
  { file: 'docs/up.md', by: 'tour', languages: ['sh'] },
  { file: 'cli/README.md', by: 'tour', languages: ['sh'] },
  { file: 'docs/import.md', by: 'tour', languages: ['sh'] },
  { file: 'sdk/README.md', by: 'packages', languages: ['ts'] },
  { file: 'docs/operations/install.md', by: 'install', languages: ['sh'], headings: /^[1-6]\. / },
  { file: 'docs/operations/install.md', by: 'install', languages: ['sql'] },
  {
    file: 'CONTRIBUTING.md',
    by: 'contributing',
    reads: 'tests/world/worked-feature.ts',
    languages: ['ts', 'sql', 'md'],
    headings: /^A feature/,
  },
]

const PLACEHOLDERS =
  'ids and secrets of an installation stand in it as …; the routes and commands have tests of their own'
const FRAGMENT = 'a few lines out of a program, with names of the text around it'
/** What is not run, by document and, where not all of it is meant, the heading. */
export const REASONS: Readonly<Record<string, string>> = {
  'docs/operations/README.md': PLACEHOLDERS,
  'docs/operations/billing.md': PLACEHOLDERS,
  'docs/operations/cells.md': PLACEHOLDERS,
  'docs/operations/organizations.md': PLACEHOLDERS,
  'docs/operations/restores.md': PLACEHOLDERS,
  'docs/operations/rotate-and-revoke.md': PLACEHOLDERS,
  'docs/operations/sign-in.md': PLACEHOLDERS,
  'docs/operations/run.md': 'it switches what others in the same stage use; `admin` makes the same calls',
  'docs/operations/setup.md':
    'certificates and hosts of an installation stand in it; cli/setup/setup.test.ts runs the command',
  'docs/operations/releases.md': 'needs a release that was published; `test:system -- shipped` builds one twice',
  'docs/operations/encoder.md': 'needs an archive of 288 MB from elsewhere',
  'docs/operations/backups.md': 'takes minutes: `test:system -- backup` runs each of its commands',
  'docs/import.md#ndjson': 'cli/import/import.test.ts reads it',
  'docs/meaning.md': 'needs word lists and a model from elsewhere, and hours',
  'docs/operations/what-to-do-when.md': 'needs a collector of traces; `trace` does the same with its own',
  'docs/operations/containers.md': 'needs Docker and minutes: `test:system -- compose` does the same',
  'docs/operations/kubernetes.md':
    'needs a cluster that runs programs: `test:system -- chart` installs on an API server',
  'docs/operations/install.md#PostgreSQL and PgBouncer': 'a line of the configuration of PgBouncer, which is not there',
  'integrations/claude-code/README.md': 'is typed into Claude Code; `test:system -- claude-code` does the same in full',
  'examples/support-agent/README.md': 'installs from a registry; `support-agent` does the same from the packed client',
  'clients/python/README.md': 'needs packages of Python from elsewhere; `test:system -- python` runs each block',
  'scripts/build/server-readme.md': 'names of the installed commands; `packages` starts both',
  'ARCHITECTURE.md': 'pictures',
  'docs/testing.md#What to use': FRAGMENT,
  'libs/capability/README.md': 'starts the tests of the folder, which npm test runs',
  'libs/acts/README.md': FRAGMENT,
  'libs/chassis/README.md': FRAGMENT,
  'libs/contract/README.md': FRAGMENT,
  'libs/postgres/README.md': FRAGMENT,
  'tests/README.md': FRAGMENT,
  'console/README.md#Add a page': 'names files of a page, as they would be',
}

/** Of the adapters, which are found by their folders. */
const ADAPTER = /^integrations\/(?:python|typescript)\/[^/]+\/README\.md$/
const ADAPTER_REASON = 'needs a framework from elsewhere; `test:system -- adapters` runs each block'

/** Those of every document that is kept or about to be. */
export function allBlocks(): DocumentBlock[] {
  const names = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md']
  return execFileSync('git', names, { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((file) => file !== '' && existsSync(path.join(ROOT, file)))
    .flatMap(readDocument)
}

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

export function isRun({ file, language, heading }: DocumentBlock): boolean {
  const [kind = ''] = language.split(' ')
  return RUNNERS.some(
    (runner) =>
      runner.file === file && runner.languages.includes(kind) && (!runner.headings || runner.headings.test(heading)),
  )
}

/** Commands that start a suite, or say help: a stage for each would run all twice, so what they name is there. */
export function isOfCommands({ language, code }: DocumentBlock): boolean {
  const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> }
  const isThere = (line: string): boolean => {
    const words = line.replace(/^\$ /, '').split(/\s+/)
    const [program, first = '', second = ''] = words
    if (program === 'bash' || program === 'node') {
      const named = words.filter((word) => /^[\w./-]+\.(?:ts|json)$/.test(word))
      return named.length > 0 && named.every((word) => existsSync(path.join(ROOT, word)))
    }
    if (program !== 'npm') return false
    if (first === 'test' || first === 'ci') return true
    if (first !== 'run' || !(second in scripts)) return false
    const [, name = ''] = /^npm run (?:test:system|bench) -- ([\w-]+)/.exec(line) ?? []
    const file = second === 'bench' ? `bench/${name}.bench.ts` : `tests/system/${name}.ts`
    return name === '' || name === 'all' || existsSync(path.join(ROOT, file))
  }
  const lines = code.split('\n').filter((line) => line.trim() !== '')
  return /^(?:sh|console)$/.test(language) && lines.every((line) => line.split(' && ').every((one) => isThere(one)))
}

export function reasonOf({ file, heading }: DocumentBlock): string | undefined {
  return REASONS[`${file}#${heading}`] ?? REASONS[file] ?? (ADAPTER.test(file) ? ADAPTER_REASON : undefined)
}
