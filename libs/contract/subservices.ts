// Sub-services: what an operator enables and disables in the daemons of a cell. Pure rules, by which the cell decides,
// and management as far as it knows the cell's switches; daemon/operator/subservices/store.ts has the state.
//
//   enabled ⇄ disabled, by an admin request or by an auto-revert. Never: an enabled sub-service whose dependency is
//   disabled, kv disabled, two replicas that differ for more than a second.

interface Definition {
  required: boolean
  dependsOn: readonly string[]
}

export const SUBSERVICES: Readonly<Record<string, Definition>> = {
  kv: { required: true, dependsOn: [] },
  working_memory: { required: false, dependsOn: ['kv'] },
  cognitive: { required: false, dependsOn: ['kv', 'working_memory'] },
  memory: { required: false, dependsOn: ['kv'] },
  projections: { required: false, dependsOn: ['kv'] },
  advice: { required: false, dependsOn: ['projections'] },
  mcp: { required: false, dependsOn: [] },
  events: { required: false, dependsOn: [] },
}

export const SUBSERVICE_NAMES = Object.keys(SUBSERVICES)

export type SwitchAction = 'enable' | 'disable'

export interface SwitchFailure {
  service: string
  code: 'NOT_FOUND' | 'SUBSERVICE_REQUIRED' | 'INVALID_STATE' | 'DEPENDENCY_DISABLED'
  message: string
  dependents: string[]
}

export interface SwitchPlan {
  accepted: string[]
  failures: SwitchFailure[]
}

/**
 * Which of the named sub-services may be switched. A failure does not stop the others, but an accepted one never
 * depends on a failed one: the set is reduced until it is consistent.
 */
export function planSwitch(enabled: ReadonlySet<string>, action: SwitchAction, names: readonly string[]): SwitchPlan {
  const failures: SwitchFailure[] = []
  let accepted = [...new Set(names)]
  for (;;) {
    const after = new Set(enabled)
    for (const name of accepted) action === 'enable' ? after.add(name) : after.delete(name)
    const refused = accepted
      .map((name) => (action === 'enable' ? refuseEnable(name, after) : refuseDisable(name, after)))
      .filter((failure) => failure !== undefined)
    if (refused.length === 0) return { accepted, failures }
    failures.push(...refused)
    accepted = accepted.filter((name) => !refused.some(({ service }) => service === name))
  }
}

function refuseEnable(name: string, after: ReadonlySet<string>): SwitchFailure | undefined {
  const definition = definitionOf(name)
  if (!definition) return unknown(name)
  const missing = definition.dependsOn.filter((dependency) => !after.has(dependency))
  if (missing.length === 0) return undefined
  return {
    service: name,
    code: 'DEPENDENCY_DISABLED',
    message: `${name} needs ${missing.join(' and ')}, which is disabled: enable it first or in the same call.`,
    dependents: [],
  }
}

function refuseDisable(name: string, after: ReadonlySet<string>): SwitchFailure | undefined {
  const definition = definitionOf(name)
  if (!definition) return unknown(name)
  const dependents = SUBSERVICE_NAMES.filter(
    (other) => after.has(other) && SUBSERVICES[other]?.dependsOn.includes(name),
  )
  if (definition.required)
    return {
      service: name,
      code: 'SUBSERVICE_REQUIRED',
      message: `${name} cannot be disabled: everything depends on it.`,
      dependents,
    }
  if (dependents.length === 0) return undefined
  return {
    service: name,
    code: 'INVALID_STATE',
    message: `${dependents.join(' and ')} still needs ${name}: disable it first or in the same call.`,
    dependents,
  }
}

/** A name comes from a request: `constructor` is a property of every object and no sub-service. */
function definitionOf(name: string): Definition | undefined {
  return Object.hasOwn(SUBSERVICES, name) ? SUBSERVICES[name] : undefined
}

function unknown(name: string): SwitchFailure {
  return {
    service: name,
    code: 'NOT_FOUND',
    message: `There is no such sub-service. There are ${SUBSERVICE_NAMES.join(', ')}.`,
    dependents: [],
  }
}
