// The kinds of credentials of the matrix, and what a route of each class answers to each of them. Which route is of
// which class: matrix.ts.

import type { Expectation } from '@loci/chassis/testing/matrix.ts'

/**
 * The kinds of credentials of management. Four more come with sign-in: session, expired session,
 * session of another organization, cookie from another site. Until then there is no cookie that is not garbage.
 *
 * Everything that a row names belongs to one organization. Unless a kind says otherwise it is that organization's, and
 * where it is an API key, the owner's.
 */
export const KINDS = [
  'none',
  'garbage cookie',
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

const EVERY_ROLE: Expected = {
  ...STRANGERS,
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

  open: {
    none: 'admitted',
    'garbage cookie': 'as none',
    'role owner': 'as none',
    'role admin': 'as none',
    'role member': 'as none',
    'role viewer': 'as none',
    'API key with the scope': 'as none',
    'API key without the scope': 'as none',
    'API key of another organization': 'as none',
    'API key limited to another tenant': 'as none',
    'API key that names another organization': 'as none',
    'revoked API key': 'as none',
    'expired API key': 'as none',
    'rotated API key inside its overlap': 'as none',
    'rotated API key after its overlap': 'as none',
    'API key of a maker who left': 'as none',
    'API key in Authorization': 'as none',
    'gateway with proof': 'as none',
    'gateway of another organization': 'as none',
    'gateway that names staff': 'as none',
    'gateway without proof': 'as none',
    'gateway with a proof for another path': 'as none',
    'gateway with an old timestamp': 'as none',
    'gateway from another address': 'as none',
    'forged x-consumer-* beside an API key': 'as none',
    staff: 'as none',
    'staff scope without the address': 'as none',
    'cell key': 'as none',
    'cell key of another cell': 'as none',
    'cell key that nobody registered': 'as none',
    'cell token that has ended': 'as none',
    'cell token for another management': 'as none',
    'webhook secret': 'as none',
    'wrong webhook secret': 'as none',
    capability: 'as none',
    'capability in Authorization': 'as none',
    'partner credential': 'as none',
    'admin token': 'as none',
  },

  // Another cell is admitted to its own feed. The test looks for ours in the answer.
  cell: {
    none: '401 UNAUTHENTICATED',
    'garbage cookie': '401 UNAUTHENTICATED',
    'role owner': '401 UNAUTHENTICATED',
    'role admin': '401 UNAUTHENTICATED',
    'role member': '401 UNAUTHENTICATED',
    'role viewer': '401 UNAUTHENTICATED',
    'API key with the scope': '401 UNAUTHENTICATED',
    'API key without the scope': '401 UNAUTHENTICATED',
    'API key of another organization': '401 UNAUTHENTICATED',
    'API key limited to another tenant': '401 UNAUTHENTICATED',
    'API key that names another organization': '401 UNAUTHENTICATED',
    'revoked API key': '401 UNAUTHENTICATED',
    'expired API key': '401 UNAUTHENTICATED',
    'rotated API key inside its overlap': '401 UNAUTHENTICATED',
    'rotated API key after its overlap': '401 UNAUTHENTICATED',
    'API key of a maker who left': '401 UNAUTHENTICATED',
    'API key in Authorization': '401 UNAUTHENTICATED',
    'gateway with proof': '401 UNAUTHENTICATED',
    'gateway of another organization': '401 UNAUTHENTICATED',
    'gateway that names staff': '401 UNAUTHENTICATED',
    'gateway without proof': '401 UNAUTHENTICATED',
    'gateway with a proof for another path': '401 UNAUTHENTICATED',
    'gateway with an old timestamp': '401 UNAUTHENTICATED',
    'gateway from another address': '401 UNAUTHENTICATED',
    'forged x-consumer-* beside an API key': '401 UNAUTHENTICATED',
    staff: '401 UNAUTHENTICATED',
    'staff scope without the address': '401 UNAUTHENTICATED',
    'cell key': 'admitted',
    'cell key of another cell': 'admitted',
    'cell key that nobody registered': '401 UNAUTHENTICATED',
    'cell token that has ended': '401 UNAUTHENTICATED',
    'cell token for another management': '401 UNAUTHENTICATED',
    'webhook secret': '401 UNAUTHENTICATED',
    'wrong webhook secret': '401 UNAUTHENTICATED',
    capability: '401 UNAUTHENTICATED',
    'capability in Authorization': '401 UNAUTHENTICATED',
    'partner credential': '401 UNAUTHENTICATED',
    'admin token': '401 UNAUTHENTICATED',
  },

  // The secret of the provider alone; no customer's credential and no cell's.
  webhook: {
    none: '401 without a code',
    'garbage cookie': '401 without a code',
    'role owner': '401 without a code',
    'role admin': '401 without a code',
    'role member': '401 without a code',
    'role viewer': '401 without a code',
    'API key with the scope': '401 without a code',
    'API key without the scope': '401 without a code',
    'API key of another organization': '401 without a code',
    'API key limited to another tenant': '401 without a code',
    'API key that names another organization': '401 without a code',
    'revoked API key': '401 without a code',
    'expired API key': '401 without a code',
    'rotated API key inside its overlap': '401 without a code',
    'rotated API key after its overlap': '401 without a code',
    'API key of a maker who left': '401 without a code',
    'API key in Authorization': '401 without a code',
    'gateway with proof': '401 without a code',
    'gateway of another organization': '401 without a code',
    'gateway that names staff': '401 without a code',
    'gateway without proof': '401 without a code',
    'gateway with a proof for another path': '401 without a code',
    'gateway with an old timestamp': '401 without a code',
    'gateway from another address': '401 without a code',
    'forged x-consumer-* beside an API key': '401 without a code',
    staff: '401 without a code',
    'staff scope without the address': '401 without a code',
    'cell key': '401 without a code',
    'cell key of another cell': '401 without a code',
    'cell key that nobody registered': '401 without a code',
    'cell token that has ended': '401 without a code',
    'cell token for another management': '401 without a code',
    'webhook secret': 'admitted',
    'wrong webhook secret': '401 without a code',
    capability: '401 without a code',
    'capability in Authorization': '401 without a code',
    'partner credential': '401 without a code',
    'admin token': '401 without a code',
  },
}
