// docs/states.md: from the bill to the refusal, and what each operation needs, out of the contract's own tables.

import { ERRORS } from '@loci/contract/errors.ts'
import {
  EFFECTS,
  type Effect,
  OPERATION_NAMES,
  OPERATIONS,
  PARTNER_ROUTE_NAMES,
  PARTNER_ROUTES,
  SERVICE_TYPE_NAMES,
  SERVICE_TYPES,
} from '@loci/contract/operations.ts'
import {
  GONE,
  GRACE_DAYS,
  STATE_REASON_NAMES,
  STATE_REASONS,
  type StateReason,
  TENANT_ACCESS,
  TENANT_STATES,
} from '@loci/contract/states.ts'

export function statesPage(): string {
  return `# States and refusals

The same fact has a name in each part of the system: billing status → tenant → service → instance in its cell → error code of the daemon.
Source: \`libs/contract/states.ts\` and \`libs/contract/operations.ts\`, by which both programs decide.

## From the bill to the refusal

${table(
  [
    'billing',
    'tenant `status` (`status_reason`)',
    'service `status` (`status_reason`)',
    'instance `state` (`state_reason`)',
    'reads, deletions',
    'writes',
  ],
  [...Object.values(TENANT_STATES).map(billingRow), ...ownRows()],
)}

The grace of a \`past_due\` subscription counts from its first failed payment and depends on its plan: ${Object.entries(
    GRACE_DAYS,
  )
    .map(([plan, days]) => `${plan} ${days} days`)
    .join(', ')}. The days of a suspension count from its start.
A subscription that was never active shows as \`past_due\` and covers nothing. A payment leads back to the first row from every other one, until
the services are deleted; the last two steps of an unpaid tenant are announced by an event 7 days before. A service that its owner suspended stays so.
A cell takes a reason that it does not know for \`suspended\`: a newer management may have more.

## What an effect is refused by

${table(
  ['effect', 'suspended', 'suspended, `unpaid_off`', 'feed older than `LOCI_FEED_STALE_SECONDS`'],
  (Object.keys(EFFECTS) as Effect[]).map((effect) => [
    `\`${effect}\``,
    EFFECTS[effect].whileSuspended ? 'served' : 'refused, the code by the reason',
    refusal('unpaid_off'),
    EFFECTS[effect].whileFeedIsStale ? 'served' : codeText('AUTHORITY_STALE'),
  ]),
)}

## Rights

${table(
  ['operation', 'effect', 'needs the database in the keyspaces of'],
  [
    ...OPERATION_NAMES.map((name) => [`\`${name}\``, ...kindCells(OPERATIONS[name])]),
    ...PARTNER_ROUTE_NAMES.map((name) => [
      `partner credential, \`${name}\``,
      PARTNER_ROUTES[name].effect,
      'the database that the credential names',
    ]),
  ],
)}

An operator's route that writes (configurations, policies, import) has the effect \`write\`. A route can need a second operation; the OpenAPI
document of the daemon says which (\`x-loci-second-operation\`).

## Types of service

${table(
  ['`service_type`', 'other names', 'domains'],
  SERVICE_TYPE_NAMES.map((name) => [
    `\`${name}\``,
    SERVICE_TYPES[name].otherNames.map((one) => `\`${one}\``).join(', '),
    SERVICE_TYPES[name].domains.join(', '),
  ]),
)}

Names are taken in any case. \`graph\` has the routes of \`memory\` today; it has no relation routes yet.
An operation whose domains the type does not have is 403 \`FORBIDDEN\` in the daemon and left out of tokens. What is of the whole instance
(\`system:read\`, \`events:read\`, \`operator\`) is in every type.
`
}

function billingRow({
  billing: given,
  fromDay,
  status,
  reason,
  access,
}: (typeof TENANT_STATES)[keyof typeof TENANT_STATES]): string[] {
  const billing = fromDay === 0 ? given : `${given}, for ${fromDay} days`
  const tenant = named(status, reason)
  const instance = TENANT_ACCESS[access]
  if (instance.state === 'deleted')
    return [billing, tenant, '`deleting`, then `deleted`', '`deleted`', codeText(GONE), codeText(GONE)]
  if (instance.state === 'active') return [billing, tenant, '`active`', '`active`', 'served', 'served']
  return [billing, tenant, ...suspendedCells(instance.reason)]
}

/** What does not come from the bill of this tenant alone. */
function ownRows(): string[][] {
  const fromBilling = Object.values(TENANT_ACCESS).map(({ reason }) => reason as StateReason | null)
  return [
    ...STATE_REASON_NAMES.filter((name) => !fromBilling.includes(name)).map((name) => [
      STATE_REASONS[name].meaning,
      'any',
      ...suspendedCells(name),
    ]),
    ['its owner deleted it', 'any', '`deleting`, then `deleted`', '`deleted`', codeText(GONE), codeText(GONE)],
  ]
}

function suspendedCells(reason: StateReason): string[] {
  const reads = STATE_REASONS[reason].access === 'none' ? refusal(reason) : 'served'
  return [named('suspended', reason), named('suspended', reason), reads, refusal(reason)]
}

function named(state: string, reason: string | null): string {
  return reason === null ? `\`${state}\`` : `\`${state}\` (\`${reason}\`)`
}

function refusal(reason: StateReason): string {
  return codeText(STATE_REASONS[reason].code)
}

function codeText(code: keyof typeof ERRORS): string {
  return `${ERRORS[code].status} \`${code}\``
}

function kindCells({ domains, scope, effect }: (typeof OPERATIONS)[keyof typeof OPERATIONS]): string[] {
  return [effect, scope === 'instance' ? 'none: it is of the whole instance' : domains.join(', ')]
}

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
