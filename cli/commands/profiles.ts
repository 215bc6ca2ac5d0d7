// Profiles, and what a command would use.

import { CommandFailure, usage } from '../failure.ts'
import { meantBy } from '../profiles/connection.ts'
import { writeContext } from '../profiles/context.ts'
import { filesOf, readKeys, readProfiles, requireProfileName, writeKeys, writeProfiles } from '../profiles/profiles.ts'
import type { Call, Result } from '../tree/command.ts'
import { argument, requireYes } from './given.ts'
import { columns } from './shown.ts'

export async function list({ host }: Call): Promise<Result> {
  const { active, profiles } = readProfiles(host)
  const keys = readKeys(host)
  const data = [...profiles].map(([name, { url, service = null }]) => ({
    name,
    url,
    service,
    active: name === active,
    signed_in: keys.has(name),
  }))
  const rows = data.map((one) => [
    one.active ? '*' : ' ',
    one.name,
    one.url,
    one.signed_in ? 'signed in' : 'no key',
    one.service ?? '',
  ])
  const none = ['no profile yet: loci up, or loci login --url …']
  return { data: { profiles: data }, lines: rows.length > 0 ? columns(rows) : none }
}

function requireProfile(call: Call, name: string) {
  const known = readProfiles(call.host)
  const profile = known.profiles.get(name)
  if (profile) return { ...known, profile }
  throw new CommandFailure('notFound', 'NO_PROFILE', `There is no profile '${name}'.`, { hint: 'loci profiles list' })
}

export async function use(call: Call): Promise<Result> {
  const name = argument(call, 0)
  const { profiles } = requireProfile(call, name)
  writeProfiles(call.host, { active: name, profiles })
  return { data: { active: name }, lines: [`profile "${name}" is active`] }
}

export async function create(call: Call): Promise<Result> {
  const name = requireProfileName(argument(call, 0))
  const { active, profiles } = readProfiles(call.host)
  if (profiles.has(name))
    throw new CommandFailure('conflict', 'PROFILE_EXISTS', `There is a profile '${name}' already.`)
  const url = call.text('url')
  if (url === undefined || !/^https?:\/\//.test(url)) throw usage('--url is where management is: https://…')
  profiles.set(name, { url, service: call.text('service') })
  writeProfiles(call.host, { active: active ?? name, profiles })
  return { data: { name, url }, lines: [`profile "${name}" leads to ${url}: loci login --profile ${name}`] }
}

export async function remove(call: Call): Promise<Result> {
  const name = argument(call, 0)
  const { active, profiles } = requireProfile(call, name)
  const what = `profile "${name}" and its key from this machine`
  if (call.has('dry-run')) return { data: { dry_run: true, name }, lines: [`would delete ${what}`] }
  await requireYes(call, `Delete ${what}`)
  const keys = readKeys(call.host)
  keys.delete(name)
  profiles.delete(name)
  writeKeys(call.host, keys)
  writeProfiles(call.host, { active: active === name ? undefined : active, profiles })
  return { data: { deleted: name }, lines: [`profile "${name}" is gone; its API key is not revoked: loci keys revoke`] }
}

/** A secret is shown by its beginning alone. */
function meantHere(call: Call): { name: string; value: string | null; source: string }[] {
  return Object.entries(meantBy(call)).map(([name, { value, source }]) => ({
    name,
    value: name === 'apiKey' && value !== undefined ? `${value.slice(0, 12)}…` : (value ?? null),
    source,
  }))
}

export async function get(call: Call): Promise<Result> {
  const found = meantHere(call).find(({ name }) => name === argument(call, 0))
  if (found?.value) return { data: found, lines: [found.value] }
  throw new CommandFailure('notFound', 'NOT_SET', `${argument(call, 0)} is not set.`, { hint: 'loci config show' })
}

export async function set(call: Call): Promise<Result> {
  const [name, value] = [argument(call, 0), argument(call, 1)]
  const using = meantBy(call).profile.value
  if (using === undefined)
    throw new CommandFailure('config', 'NO_PROFILE', 'There is no profile to change.', {
      hint: 'loci up, or loci login',
    })
  const { active, profiles, profile } = requireProfile(call, using)
  writeProfiles(call.host, { active, profiles: profiles.set(using, { ...profile, [name]: value }) })
  return { data: { profile: using, [name]: value }, lines: [`profile "${using}": ${name} = ${value}`] }
}

export async function show(call: Call): Promise<Result> {
  const meant = meantHere(call)
  const rows = meant.map(({ name, value, source }) => [name, '=', value ?? '-', `(${source})`])
  return { data: Object.fromEntries(meant.map(({ name, ...one }) => [name, one])), lines: columns(rows) }
}

export async function paths({ host }: Call): Promise<Result> {
  const files = filesOf(host)
  return { data: files, lines: columns(Object.entries(files).map(([name, file]) => [name, file])) }
}

export async function useService(call: Call): Promise<Result> {
  const service = argument(call, 0)
  const file = writeContext(call.host, service)
  return { data: { service, file }, lines: [`this directory uses ${service} (${file})`] }
}
