// The same client in Node, which also looks into the environment and into the command line's profile for what was not
// given. Browsers get loci.ts, which has neither.

import { type LociOptions, Loci as PlainLoci } from './loci.ts'
import { readProfile } from './profile.ts'

export interface NodeLociOptions extends LociOptions {
  /** Which profile of the command line; default: LOCI_PROFILE, else the active one. */
  profile?: string | undefined
}

export class Loci extends PlainLoci {
  constructor(given: NodeLociOptions = {}) {
    super(completed(given, process.env))
  }
}

/**
 * Arguments, then LOCI_URL, LOCI_API_KEY, LOCI_TOKEN and LOCI_SERVICE, then the profile, whose credential goes to the
 * profile's own url alone. Who names a profile means it, and not the environment.
 */
export function completed(
  { profile: name, ...given }: NodeLociOptions,
  env: Readonly<{ [name: string]: string | undefined }>,
): LociOptions {
  const told = (variable: string) => (name === undefined && env[variable] ? env[variable] : undefined)
  const environment = { url: told('LOCI_URL'), apiKey: told('LOCI_API_KEY'), token: told('LOCI_TOKEN') }
  const url = given.url ?? environment.url
  const profile = url === undefined || name !== undefined ? readProfile(env, name) : undefined
  const stored = url === undefined || url === profile?.url ? profile : undefined
  const credential = [given, environment, stored].find((one) => one?.apiKey !== undefined || one?.token !== undefined)
  return {
    ...given,
    url: url ?? profile?.url,
    apiKey: credential?.apiKey,
    token: credential?.token,
    service: given.service ?? told('LOCI_SERVICE') ?? stored?.service,
    organization: given.organization ?? stored?.organization,
    telemetry: given.telemetry === false ? false : { content: isContentWanted(env), ...given.telemetry },
  }
}

/** As every GenAI instrumentation has it: `true`, or for spans alone or among others `span_only`, `span_and_event`. */
function isContentWanted(env: Readonly<{ [name: string]: string | undefined }>): boolean {
  const wanted = env.OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT?.toLowerCase() ?? ''
  return ['true', 'span_only', 'span_and_event'].includes(wanted)
}
