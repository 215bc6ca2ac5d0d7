// Which loci is meant, and with what: options over the environment over the directory over the profile.

import { LociError } from '@loci/sdk/error.ts'
import { Loci } from '@loci/sdk/loci.ts'
import type { Service } from '@loci/sdk/services.ts'
import type { User } from '@loci/sdk/user.ts'
import { CommandFailure, usage } from '../failure.ts'
import type { Call, Result } from '../tree/command.ts'
import { timeoutMs } from '../tree/timeout.ts'
import { readContext } from './context.ts'
import { filesOf, keptCapabilities, readKeys, readProfiles } from './profiles.ts'

/** Each with where it came from. */
export interface Meant {
  url: Known
  profile: Known
  apiKey: Known
  service: Known
  organization: Known
}
export interface Known {
  value: string | undefined
  source: string
}

const NOWHERE: Known = { value: undefined, source: 'not given' }
/** A command that somebody waits for: less patient than a program. */
const PATIENCE_S = 30
const ATTEMPTS_MAX = 4

export function meantBy(call: Call): Meant {
  const { host } = call
  const option = (name: string): Known | undefined => known(call.text(name), `--${name}`)
  const variable = (name: string): Known | undefined => known(host.env[name], name)
  const { config, credentials } = filesOf(host)
  const { active, profiles } = readProfiles(host)
  const named = option('profile') ?? variable('LOCI_PROFILE')
  const profile = named ?? known(active, config) ?? NOWHERE
  const stored = profile.value === undefined ? undefined : profiles.get(profile.value)
  if (named && !stored && named.value !== undefined)
    throw new CommandFailure('config', 'NO_PROFILE', `There is no profile '${named.value}' (${named.source}).`, {
      hint: 'loci profiles list shows them.',
    })
  const of = `profile ${profile.value}, ${config}`
  const url = option('url') ?? variable('LOCI_URL') ?? known(stored?.url, of) ?? NOWHERE
  // The key of a profile goes to the address of that profile alone.
  const isOwn = stored !== undefined && stored.url === url.value
  const key = isOwn ? readKeys(host).get(profile.value as string) : undefined
  const context = readContext(host)
  return {
    url,
    profile,
    apiKey:
      variable('LOCI_API_KEY') ??
      variable('LOCI_TOKEN') ??
      known(key, `profile ${profile.value}, ${credentials}`) ??
      NOWHERE,
    service:
      option('service') ??
      variable('LOCI_SERVICE') ??
      known(context?.service, context?.file ?? '') ??
      (isOwn ? known(stored.service, of) : undefined) ??
      NOWHERE,
    organization: (isOwn ? known(stored.organization, of) : undefined) ?? NOWHERE,
  }
}

function known(value: string | undefined, source: string): Known | undefined {
  return value === undefined || value === '' ? undefined : { value, source }
}

/** With a credential, unless the command needs none. */
export async function withLoci(
  call: Call,
  work: (loci: Loci, meant: Meant) => Promise<Result>,
  { needsKey = true }: { needsKey?: boolean } = {},
): Promise<Result> {
  const meant = meantBy(call)
  const { url, apiKey, service, organization } = meant
  if (url.value === undefined)
    throw new CommandFailure('config', 'NO_PROFILE', 'No loci is known yet.', {
      hint: 'Start one here: loci up    Or sign in to one: loci login --url https://…',
    })
  if (needsKey && apiKey.value === undefined)
    throw new CommandFailure('credential', 'NOT_SIGNED_IN', `There is no credential for ${url.value}.`, {
      hint: 'loci login',
    })
  try {
    const loci = new Loci({
      url: url.value,
      // Without a key it would be taken for a browser with a session.
      token: apiKey.value ?? 'loci_sk_none',
      service: service.value,
      organization: organization.value,
      deadlineMs: timeoutMs(call, PATIENCE_S),
      attemptsMax: ATTEMPTS_MAX,
      fetch: watched(call),
      capabilities: keptCapabilities(call.host, url.value),
    })
    return await work(loci, meant)
  } catch (error) {
    throw unreachable(error, meant)
  }
}

export async function withService(
  call: Call,
  work: (service: Service, loci: Loci) => Promise<Result>,
  which: string | undefined = undefined,
): Promise<Result> {
  return withLoci(call, async (loci) => work(loci.service(which), loci))
}

export async function withUser(call: Call, work: (user: User, service: Service) => Promise<Result>): Promise<Result> {
  return withService(call, async (service) => work(service.user(userOf(call)), service))
}

export function userOf(call: Call): string {
  const user = call.text('user') ?? call.host.env.LOCI_USER ?? 'default'
  if (/^[a-z0-9_-]{1,64}$/.test(user)) return user
  const near = user
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .slice(0, 64)
  throw usage(`--user is a name of 1 to 64 of a-z, 0-9, _ and -, such as ${/[a-z0-9]/.test(near) ? near : 'ada'}.`)
}

/** Tells of each request with --verbose, never of a header; and keeps the id of the last one. */
function watched(call: Call): typeof fetch {
  return async (input, init) => {
    const startedAt = performance.now()
    const { pathname } = new URL(String(input))
    const method = init?.method ?? 'GET'
    try {
      const answer = await fetch(input, init)
      call.requestId = answer.headers.get('x-request-id') ?? call.requestId
      if (call.has('verbose'))
        call.host.err(
          `${method} ${pathname}  ${answer.status}  ${Math.round(performance.now() - startedAt)} ms  ${call.requestId}\n`,
        )
      return answer
    } catch (error) {
      if (call.has('verbose')) call.host.err(`${method} ${pathname}  no answer\n`)
      throw error
    }
  }
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'the connection was cut',
  ENOTFOUND: 'its name is not known',
  EAI_AGAIN: 'names cannot be looked up now',
  ENETUNREACH: 'there is no way to its network',
  ETIMEDOUT: 'it does not answer',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted: NODE_EXTRA_CA_CERTS names an authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted: NODE_EXTRA_CA_CERTS names an authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted: NODE_EXTRA_CA_CERTS names an authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
}

function unreachable(error: unknown, { url }: Meant): unknown {
  if (!(error instanceof LociError) || error.code !== 'NETWORK_FAILURE') return error
  const message = error.message.replace(/\(([A-Z_]+)\)/, (whole, code: string) =>
    CAUSES[code] === undefined ? whole : `(${CAUSES[code]})`,
  )
  return new CommandFailure('unavailable', 'UNREACHABLE', message, {
    hint: `${url.source}\nIs it running?  loci up        Check everything:  loci doctor`,
  })
}
