// The kinds of credentials of the matrix, and what a route of each class answers to each of them. Which route is of
// which class: matrix.ts.

import type { Expectation } from '@loci/chassis/testing/matrix.ts'

/**
 * The kinds of credentials of management.
 *
 * Everything that a row names belongs to one organization. Unless a kind says otherwise it is that organization's, and
 * where it is an API key, the owner's.
 */
export const KINDS = [
  'none',
  'garbage cookie',
  'session',
  'expired session',
  'session that was signed out',
  'session of another organization',
  'session that names another organization',
  'session of staff',
  'cookie from another site',
  'role owner',
  'role admin',
  'role member',
  'role viewer',
  'API key with the scope',
  'API key without the scope',
  'API key of another organization',
  'API key limited to another tenant',
  'API key that names another organization',
  'revoked API key',
  'expired API key',
  'rotated API key inside its overlap',
  'rotated API key after its overlap',
  'API key of a maker who left',
  'API key in Authorization',
  'gateway with proof',
  'gateway of another organization',
  'gateway that names staff',
  'gateway without proof',
  'gateway with a proof for another path',
  'gateway with an old timestamp',
  'gateway from another address',
  'forged x-consumer-* beside an API key',
  'staff',
  'staff scope without the address',
  'cell key',
  'cell key of another cell',
  'cell key that nobody registered',
  'cell token that has ended',
  'cell token for another management',
  'webhook secret',
  'wrong webhook secret',
  'capability',
  'capability in Authorization',
  'partner credential',
  'admin token',
] as const

export type Kind = (typeof KINDS)[number]
export type Expected = Record<Kind, Expectation>
type Difference = Partial<Expected>

/** What no caller is, whatever the route. The one who names another organization is known, and may not. */
const STRANGERS = {
  none: '401 UNAUTHENTICATED',
  'garbage cookie': '401 UNAUTHENTICATED',
  'expired session': '401 UNAUTHENTICATED',
  'session that was signed out': '401 UNAUTHENTICATED',
  'session that names another organization': '403 FORBIDDEN',
  'API key that names another organization': '403 FORBIDDEN',
  'revoked API key': '401 UNAUTHENTICATED',
  'expired API key': '401 UNAUTHENTICATED',
  'rotated API key after its overlap': '401 UNAUTHENTICATED',
  'API key of a maker who left': '401 UNAUTHENTICATED',
  'API key in Authorization': '401 CREDENTIAL_MISPLACED',
  'gateway without proof': '401 UNAUTHENTICATED',
  'gateway with a proof for another path': '401 UNAUTHENTICATED',
  'gateway with an old timestamp': '401 UNAUTHENTICATED',
  'gateway from another address': '401 UNAUTHENTICATED',
  'cell key': '401 UNAUTHENTICATED',
  'cell key of another cell': '401 UNAUTHENTICATED',
  'cell key that nobody registered': '401 UNAUTHENTICATED',
  'cell token that has ended': '401 UNAUTHENTICATED',
  'cell token for another management': '401 UNAUTHENTICATED',
  'webhook secret': '401 UNAUTHENTICATED',
  'wrong webhook secret': '401 UNAUTHENTICATED',
  capability: '401 UNAUTHENTICATED',
  'capability in Authorization': '401 UNAUTHENTICATED',
  'partner credential': '401 UNAUTHENTICATED',
  'admin token': '401 UNAUTHENTICATED',
} as const

// Of another organization `admitted` means: to what is its own. The test looks for ours in the answer. The forged
// headers are beside the key of a viewer of another organization and say owner and staff of ours: it is that viewer, no
// more.

// A cookie from another site is the owner's session; what is not a GET is refused for it (matrix.ts).

const EVERY_ROLE: Expected = {
  ...STRANGERS,
  session: 'admitted',
  'session of another organization': 'admitted',
  'session of staff': 'admitted',
  'cookie from another site': 'admitted',
  'role owner': 'admitted',
  'role admin': 'admitted',
  'role member': 'admitted',
  'role viewer': 'admitted',
  'API key with the scope': 'admitted',
  'API key without the scope': '403 FORBIDDEN',
  'API key of another organization': 'admitted',
  'API key limited to another tenant': 'admitted',
  'rotated API key inside its overlap': 'admitted',
  'gateway with proof': 'admitted',
  'gateway of another organization': 'admitted',
  'gateway that names staff': 'admitted',
  'forged x-consumer-* beside an API key': 'admitted',
  staff: 'admitted',
  'staff scope without the address': 'admitted',
}

const MEMBERS_AND_ABOVE: Expected = {
  ...EVERY_ROLE,
  'role viewer': '403 FORBIDDEN',
  'forged x-consumer-* beside an API key': '403 FORBIDDEN',
}

const ADMINS_AND_OWNERS: Expected = { ...MEMBERS_AND_ABOVE, 'role member': '403 FORBIDDEN' }

const OWNERS: Expected = { ...ADMINS_AND_OWNERS, 'role admin': '403 FORBIDDEN' }

/** Whoever is somebody; no scope is asked for. */
const ANYONE: Expected = { ...EVERY_ROLE, 'API key without the scope': 'admitted' }

/** An owner is not staff, nor is who has the scope without the address, nor who says so without proof. */
const STAFF: Expected = {
  ...STRANGERS,
  session: '403 FORBIDDEN',
  'session of another organization': '403 FORBIDDEN',
  'session of staff': 'admitted',
  'cookie from another site': '403 FORBIDDEN',
  'role owner': '403 FORBIDDEN',
  'role admin': '403 FORBIDDEN',
  'role member': '403 FORBIDDEN',
  'role viewer': '403 FORBIDDEN',
  'API key with the scope': '403 FORBIDDEN',
  'API key without the scope': '403 FORBIDDEN',
  'API key of another organization': '403 FORBIDDEN',
  'API key limited to another tenant': '403 FORBIDDEN',
  'rotated API key inside its overlap': '403 FORBIDDEN',
  'gateway with proof': '403 FORBIDDEN',
  'gateway of another organization': '403 FORBIDDEN',
  'gateway that names staff': '403 FORBIDDEN',
  'forged x-consumer-* beside an API key': '403 FORBIDDEN',
  staff: 'admitted',
  'staff scope without the address': '403 FORBIDDEN',
}

/** A tenant or an organization that is not yours. Staff is a stranger there too. */
export const NOT_YOURS: Difference = {
  'session of another organization': '403 FORBIDDEN',
  'session of staff': '403 FORBIDDEN',
  'API key of another organization': '403 FORBIDDEN',
  'API key limited to another tenant': '403 FORBIDDEN',
  'gateway of another organization': '403 FORBIDDEN',
  'gateway that names staff': '403 FORBIDDEN',
  'forged x-consumer-* beside an API key': '403 FORBIDDEN',
  staff: '403 FORBIDDEN',
  'staff scope without the address': '403 FORBIDDEN',
}

/** A service or what hangs on one, an operation, a key: it is as if there were none. */
export const NOT_THERE: Difference = {
  'session of another organization': '404 NOT_FOUND',
  'session of staff': '404 NOT_FOUND',
  'API key of another organization': '404 NOT_FOUND',
  'API key limited to another tenant': '404 NOT_FOUND',
  'gateway of another organization': '404 NOT_FOUND',
  'gateway that names staff': '404 NOT_FOUND',
  staff: '404 NOT_FOUND',
  'staff scope without the address': '404 NOT_FOUND',
}
/** The same where a viewer has the scope: elsewhere the scope is asked for first. */
export const NOT_THERE_TO_READ: Difference = { ...NOT_THERE, 'forged x-consumer-* beside an API key': '404 NOT_FOUND' }

/** About the whole organization, so not for a key that has some of its tenants. */
export const WHOLE: Difference = { 'API key limited to another tenant': '403 FORBIDDEN' }
/** Needs a person, and a gateway names none. */
export const PERSONAL: Difference = {
  'gateway with proof': '403 FORBIDDEN',
  'gateway of another organization': '403 FORBIDDEN',
  'gateway that names staff': '403 FORBIDDEN',
}

/** A scope that only an owner's key has, asked for by the handler. */
export const OWNERS_KEYS: Difference = {
  'role admin': '403 FORBIDDEN',
  'role member': '403 FORBIDDEN',
  'role viewer': '403 FORBIDDEN',
  'API key without the scope': '403 FORBIDDEN',
  'forged x-consumer-* beside an API key': '403 FORBIDDEN',
}
/** Who gives a role has all that the role has: members:write alone gives none. */
export const GIVEN: Difference = { ...NOT_YOURS, 'API key with the scope': '403 FORBIDDEN' }

function everyKind(expectation: Expectation): Expected {
  return Object.fromEntries(KINDS.map((kind) => [kind, expectation])) as Expected
}

export const EXPECTED: Record<string, Expected> = {
  'caller with anyone': ANYONE,
  'caller with services:read': EVERY_ROLE,
  'caller with tenants:read': EVERY_ROLE,
  'caller with usage:read': EVERY_ROLE,
  'caller with events:read': EVERY_ROLE,
  'caller with services:write': MEMBERS_AND_ABOVE,
  'caller with tokens:write': MEMBERS_AND_ABOVE,
  'caller with tenants:write': ADMINS_AND_OWNERS,
  'caller with keys:write': { ...ADMINS_AND_OWNERS, 'rotated API key inside its overlap': '403 FORBIDDEN' },
  'caller with audit:read': ADMINS_AND_OWNERS,
  'caller with billing:read': OWNERS,
  'caller with members:write': OWNERS,
  'caller with staff': STAFF,
  // No key, not even staff's; the path is none that the proxy leads to.
  'caller with session': {
    ...STAFF,
    session: '404 NOT_FOUND',
    'session of another organization': '404 NOT_FOUND',
    'session of staff': '404 NOT_FOUND',
    'cookie from another site': '403 ORIGIN_NOT_ALLOWED',
    staff: '403 FORBIDDEN',
  },

  open: {
    ...everyKind('as none'),
    none: 'admitted',
  },

  // The two GETs that tell a token, and what a session alone may do.
  session: {
    ...everyKind('401 UNAUTHENTICATED'),
    session: 'admitted',
    'session of another organization': 'admitted',
    'session that names another organization': 'admitted',
    'session of staff': 'admitted',
    'cookie from another site': '403 ORIGIN_NOT_ALLOWED',
  },
  // By the refresh cookie, which no kind has: refresh.test.ts.
  'session handle': everyKind('401 UNAUTHENTICATED'),
  // Anybody, but not by way of another site.
  'same site': {
    ...everyKind('as none'),
    none: 'admitted',
    'cookie from another site': '403 ORIGIN_NOT_ALLOWED',
  },

  // Another cell is admitted to its own feed. The test looks for ours in the answer.
  cell: {
    ...everyKind('401 UNAUTHENTICATED'),
    'cell key': 'admitted',
    'cell key of another cell': 'admitted',
  },

  // The secret of the provider alone; no customer's credential and no cell's.
  webhook: {
    ...everyKind('401 without a code'),
    'webhook secret': 'admitted',
  },
}
