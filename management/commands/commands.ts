// The operator's commands, on the same functions as the routes. Each answers one JSON object on standard output, says
// what went wrong on standard error, and ends with 64 for a wrong call, 69 when the database cannot be used, 1 for a
// refusal.

import { userInfo } from 'node:os'
import { parseArgs } from 'node:util'
import { toApiError } from '@loci/chassis/api-error.ts'
import type { Config } from '@loci/chassis/config.ts'
import type { Command } from '@loci/chassis/program.ts'
import { createSealer, SealingKeyMissing } from '@loci/chassis/sealing.ts'
import { explainDatabaseError, wrongDatabase } from '@loci/postgres/first-contact.ts'
import { schemaState } from '@loci/postgres/migrate.ts'
import { openPool } from '@loci/postgres/pool.ts'
import { sealingKeyProblems } from '@loci/postgres/sealing-checks.ts'
import { SCHEMA } from '../schema.ts'
import type { REGISTRY } from '../settings.ts'
import { PARTNER_CREDENTIALS, TOKENS } from './credentials.ts'
import { API_KEYS, BOOTSTRAP, ORGANIZATIONS } from './people.ts'
import { CELLS, FEED, INSTANCES } from './placement.ts'
import { KEYS } from './signing-keys.ts'
import type { Given, Group, Verb } from './verb.ts'

const GROUPS: Record<string, Group> = {
  bootstrap: BOOTSTRAP,
  organizations: ORGANIZATIONS,
  'api-keys': API_KEYS,
  cells: CELLS,
  instances: INSTANCES,
  tokens: TOKENS,
  'partner-credentials': PARTNER_CREDENTIALS,
  keys: KEYS,
  feed: FEED,
}

type Table = typeof REGISTRY.settings

interface Streams {
  out(text: string): void
  err(text: string): void
}

export function operatorCommands(streams: Streams): Record<string, Command<Table>> {
  return Object.fromEntries(
    Object.entries(GROUPS).map(([name, group]) => [
      name,
      {
        summary: group.summary,
        usage: usageLines(name, group),
        ...(group.without ? { without: group.without } : {}),
        run: (config: Config<Table>, args: string[]) => runVerb(name, group, config, args, streams),
      },
    ]),
  )
}

const EXIT = { done: 0, refused: 1, usage: 64, unavailable: 69, configuration: 78 } as const

async function runVerb(
  name: string,
  group: Group,
  config: Config<Table>,
  args: string[],
  { out, err }: Streams,
): Promise<number> {
  // A command of one word has no verb before its options.
  const [word = '', ...rest] = Object.hasOwn(group.verbs, '') ? ['', ...args] : args
  const verb = Object.hasOwn(group.verbs, word) ? group.verbs[word] : undefined
  const read = verb && readOptions(verb, rest)
  if (!verb || !read || 'problem' in read) {
    if (read && 'problem' in read) err(`${read.problem}\n`)
    for (const line of usageLines(name, group)) err(`usage: management ${line}\n`)
    return EXIT.usage
  }
  const { databaseUrl, databaseCa, publicUrl, sealingKeys, regions } = config.values
  const pool = openPool({
    url: databaseUrl as string,
    ...(databaseCa ? { ca: databaseCa } : {}),
    applicationName: `loci-management-${name}`,
    connectionsMax: 2,
    // Somebody waits for one command, not a thousand clients for a server: better late than not.
    connectMs: 10_000,
    statementMs: 10_000,
    onError: () => {}, // The statement that needed the connection fails by itself.
  })
  try {
    const wrong = await wrongDatabase(pool, 'management', 'LOCI_DATABASE_URL')
    if (wrong) {
      err(`${wrong}\n`)
      return EXIT.configuration
    }
    const schema = await schemaState(pool, SCHEMA)
    if (schema.state === 'behind' || schema.state === 'incompatible') {
      err(`${schema.reason}\n`)
      return EXIT.unavailable
    }
    const otherKeys = group.without?.includes('sealingKeys') ? [] : await sealingKeyProblems(pool, sealingKeys ?? [])
    if (otherKeys.length > 0) {
      for (const problem of otherKeys) err(`${problem}\n`)
      return EXIT.configuration
    }
    const issuer = { sealer: createSealer(sealingKeys ?? []), publicUrl: publicUrl as string }
    const settings = { sealingKeys: sealingKeys ?? [], regions: regions ?? [] }
    const answer = await verb.run({ pool, issuer, ...settings, actor: actorName() }, read.given)
    out(`${JSON.stringify(answer)}\n`)
    return EXIT.done
  } catch (error) {
    if (error instanceof SealingKeyMissing) {
      err(`${error.message}\n`)
      return EXIT.configuration
    }
    const failure = toApiError(error)
    if (failure.code === 'INTERNAL_ERROR') throw error
    err(`${failure.message}\n`)
    if (failure.code === 'STORE_UNAVAILABLE') err(`${explainDatabaseError(error, 'management', 'LOCI_DATABASE_URL')}\n`)
    if (failure.status === 400) return EXIT.usage
    return failure.status === 503 ? EXIT.unavailable : EXIT.refused
  } finally {
    await pool.close()
  }
}

function readOptions({ required = [], optional = [] }: Verb, args: string[]): { given: Given } | { problem: string } {
  const options = Object.fromEntries([...required, ...optional].map((name) => [name, { type: 'string' as const }]))
  try {
    const { values } = parseArgs({ args: joined(args, Object.keys(options)), options, allowPositionals: false })
    const missing = required.filter((name) => !values[name])
    if (missing.length > 0) return { problem: `${missing.map((name) => `--${name}`).join(', ')}: not given` }
    return { given: values as Given }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** `--name value` → `--name=value`: one public key in 64 begins with a dash, and would be taken for an option. */
function joined(args: string[], names: string[]): string[] {
  const isOption = (text: string | undefined) => text !== undefined && names.some((name) => text === `--${name}`)
  const result: string[] = []
  for (let i = 0; i < args.length; i += 1) {
    const [argument, next] = [args[i] as string, args[i + 1]]
    if (isOption(argument) && next !== undefined && !isOption(next)) {
      result.push(`${argument}=${next}`)
      i += 1
    } else result.push(argument)
  }
  return result
}

function usageLines(name: string, { verbs }: Group): string[] {
  return Object.entries(verbs).map(([known, verb]) => `${`${name} ${known}`.trim()}${usageOf(verb)}`)
}

function usageOf({ required = [], optional = [] }: Verb): string {
  return [...required.map((name) => ` --${name} …`), ...optional.map((name) => ` [--${name} …]`)].join('')
}

/** Who sits at the machine: a command has no other credential than the right to read its settings. */
function actorName(): string {
  try {
    return `command:${userInfo().username}`
  } catch {
    return 'command'
  }
}
