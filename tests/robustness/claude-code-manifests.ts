// The files of the plugin by the schemas of Claude Code 2.1.327, as far as they use them: what it would not know is
// refused here, and what they name is there.

import { cpSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { z } from 'zod'
import type { Report } from '../world/report.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const MARKETPLACE = '.claude-plugin/marketplace.json'

const kebab = z.string().regex(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/)
const author = z.strictObject({ name: z.string().min(1), email: z.string().optional(), url: z.string().optional() })
const semver = z.string().regex(/^\d+\.\d+\.\d+(?:-[\w.]+)?$/)

const manifest = z.strictObject({
  name: kebab,
  displayName: z.string().optional(),
  version: semver.optional(),
  description: z.string().optional(),
  author: author.optional(),
  homepage: z.url().optional(),
  repository: z.string().optional(),
  license: z.string().optional(),
  keywords: z.array(z.string()).optional(),
})

const marketplace = z.strictObject({
  name: kebab,
  owner: author,
  description: z.string().optional(),
  plugins: z
    .array(z.strictObject({ name: kebab, source: z.string().startsWith('./'), description: z.string().optional() }))
    .min(1),
})

/** Without a shell: no path is read as a command. */
const command = z.strictObject({
  type: z.literal('command'),
  command: z.string().min(1),
  args: z.array(z.string()),
  timeout: z.number().positive(),
})
const always = z.array(z.strictObject({ hooks: z.array(command).min(1) })).min(1)
const starts = /^(?:startup|resume|clear|compact|fork)(?:\|(?:startup|resume|clear|compact|fork))*$/

const hooks = z.strictObject({
  description: z.string().optional(),
  hooks: z.strictObject({
    SessionStart: z.array(z.strictObject({ matcher: z.string().regex(starts), hooks: z.array(command).min(1) })).min(1),
    UserPromptSubmit: always,
    Stop: always,
    PreCompact: always,
    SessionEnd: always,
  }),
})

const server = z.strictObject({ command: z.string().min(1), args: z.array(z.string()) })
const servers = z.strictObject({ mcpServers: z.record(kebab, server) })

/** Between lines of `---`; the description is what Claude chooses a skill by. */
const skill = z.strictObject({ name: kebab.max(64), description: z.string().min(40).max(1_024) })

const FILES = {
  '.claude-plugin/plugin.json': manifest,
  'hooks/hooks.json': hooks,
  '.mcp.json': servers,
} as const

export function checkManifests(report: Report, place: string): void {
  const problems = problemsIn(ROOT)
  report.promise(
    'the files of the plugin are what Claude Code reads',
    problems.length === 0,
    problems.join('; ') || 'all',
  )
  const planted = (file: string, from: string, to: string) => {
    const root = mkdtempSync(path.join(place, 'manifests-'))
    for (const folder of ['.claude-plugin', 'integrations/claude-code'])
      cpSync(path.join(ROOT, folder), path.join(root, folder), { recursive: true })
    const text = readFileSync(path.join(root, file), 'utf8')
    if (!text.includes(from)) throw new Error(`the mutant of ${file} no longer applies: ${from}`)
    writeFileSync(path.join(root, file), text.replace(from, to))
    report.mutant(`${file}: ${from} → ${to}`, problemsIn(root)[0])
  }
  const inPlugin = (file: string) => `integrations/claude-code/${file}`
  planted(MARKETPLACE, './integrations/claude-code', './integrations/claude')
  planted(inPlugin('.claude-plugin/plugin.json'), '"name"', '"title"')
  planted(inPlugin('hooks/hooks.json'), '"PreCompact"', '"PreCompaction"')
  planted(inPlugin('hooks/hooks.json'), 'startup|', 'begin|')
  planted(inPlugin('hooks/hooks.json'), 'scripts/hook.mjs', 'scripts/hooks.mjs')
  planted(inPlugin('.mcp.json'), '"mcpServers"', '"servers"')
  planted(inPlugin('skills/memory/SKILL.md'), 'name: memory', 'name: Memory')
}

function problemsIn(root: string): string[] {
  const problems: string[] = []
  const read = <Schema extends z.ZodType>(file: string, schema: Schema): z.infer<Schema> | undefined => {
    const full = path.join(root, file)
    if (!existsSync(full)) {
      problems.push(`${file} is not there`)
      return undefined
    }
    const { data, error } = schema.safeParse(JSON.parse(readFileSync(full, 'utf8')))
    if (error) problems.push(`${file}: ${z.prettifyError(error)}`)
    return data
  }
  for (const { name, source } of read(MARKETPLACE, marketplace)?.plugins ?? []) {
    const at = (file: string) => path.join(source, file)
    for (const [file, schema] of Object.entries(FILES)) read(at(file), schema)
    const own = read(at('.claude-plugin/plugin.json'), manifest)
    if (own && own.name !== name) problems.push(`${name} is called ${own.name} by its own manifest`)
    for (const file of ['hooks/hooks.json', '.mcp.json']) {
      const text = existsSync(path.join(root, at(file))) ? readFileSync(path.join(root, at(file)), 'utf8') : ''
      for (const [, named = ''] of text.matchAll(/\$\{CLAUDE_PLUGIN_ROOT\}\/([\w./-]+)/g))
        if (!existsSync(path.join(root, at(named)))) problems.push(`${file} names ${named}, which is not there`)
    }
    problems.push(...problemsOfSkill(path.join(root, at('skills/memory/SKILL.md'))))
  }
  return problems
}

function problemsOfSkill(file: string): string[] {
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const [, head = ''] = /^---\n([\s\S]*?)\n---\n/.exec(text) ?? []
  const fields = Object.fromEntries([...head.matchAll(/^(\w+): (.+)$/gm)].map(([, name, value]) => [name, value]))
  const { error } = skill.safeParse(fields)
  return error ? [`SKILL.md: ${z.prettifyError(error)}`] : []
}
