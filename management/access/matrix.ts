// Who may call what: the reviewed table of every route of management. matrix.test.ts holds the running router against it.

import { randomUUID } from 'node:crypto'
import { newKeyPair } from '@loci/capability/jws.ts'
import type { Expectation, Matrix } from '@loci/chassis/test-matrix.ts'
import { cookieNames, HEADER } from '@loci/contract/headers.ts'
import type { TestCell } from '../test-management.ts'

/**
 * Those of PROMISES.md that exist before sessions, keys and roles do. The others (session, expired session, each role, scopes,
 * gateway with proof, staff, …) come with the credentials themselves.
 */
const KINDS = [
  'none',
  'garbage cookie',
  'API key',
  'capability',
  'capability in Authorization',
  'forged x-consumer-*',
  'webhook secret',
  'cell key',
  'cell key of another cell',
  'cell key that nobody registered',
  'cell token that has ended',
  'cell token for another management',
] as const

export type Kind = (typeof KINDS)[number]

const open = { class: 'open' }
const cell = { class: 'cell' }

export const MATRIX: Matrix<Kind> & { expected: Record<string, Record<Kind, Expectation>> } = {
  kinds: KINDS,

  rows: {
    'GET /health/live': open,
    'GET /health/ready': open,
    'GET /health/startup': open,
    'GET /health/lifecycle': open,
    'GET /metrics': open,
    'GET /openapi.json': open,
    'GET /docs': open,
    'GET /.well-known/loci-capability-keys.json': open,
    'GET /cell/v1/feed': cell,
    // The report is about an instance of the first cell: the other one has no word in it.
    'POST /cell/v1/reports': {
      class: 'cell',
      body: { observed: [] },
      expected: { 'cell key of another cell': '404 NOT_FOUND' },
    },
  },

  expected: {
    open: {
      none: 'admitted',
      'garbage cookie': 'as none',
      'API key': 'as none',
      capability: 'as none',
      'capability in Authorization': 'as none',
      'forged x-consumer-*': 'as none',
      'webhook secret': 'as none',
      'cell key': 'as none',
      'cell key of another cell': 'as none',
      'cell key that nobody registered': 'as none',
      'cell token that has ended': 'as none',
      'cell token for another management': 'as none',
    },

    // Another cell is admitted to its own feed. The test looks for ours in the answer.
    cell: {
      none: '401 UNAUTHENTICATED',
      'garbage cookie': '401 UNAUTHENTICATED',
      'API key': '401 UNAUTHENTICATED',
      capability: '401 UNAUTHENTICATED',
      'capability in Authorization': '401 UNAUTHENTICATED',
      'forged x-consumer-*': '401 UNAUTHENTICATED',
      'webhook secret': '401 UNAUTHENTICATED',
      'cell key': 'admitted',
      'cell key of another cell': 'admitted',
      'cell key that nobody registered': '401 UNAUTHENTICATED',
      'cell token that has ended': '401 UNAUTHENTICATED',
      'cell token for another management': '401 UNAUTHENTICATED',
    },
  },
}

const { access, refresh } = cookieNames('http://127.0.0.1')

export interface Holders {
  own: TestCell
  other: TestCell
  /** A real one, of an instance of our own cell. */
  capability: string
}

/** Made anew for each request: the token of a report is good once. */
export function credentialsOf(kind: Kind, { own, other, capability }: Holders): Record<string, string> {
  const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
  const now = Math.floor(Date.now() / 1000)
  const headers: Record<Kind, () => Record<string, string>> = {
    none: () => ({}),
    'garbage cookie': () => ({ cookie: `${access}=garbage; ${refresh}=garbage; =;;` }),
    'API key': () => ({ [HEADER.apiKey]: `loci_sk_${'k'.repeat(43)}`, ...bearer(`loci_sk_${'k'.repeat(43)}`) }),
    capability: () => ({ [HEADER.capability]: capability }),
    'capability in Authorization': () => bearer(capability),
    'forged x-consumer-*': () => ({
      'x-consumer-id': own.id,
      'x-consumer-username': 'staff',
      'x-consumer-custom-id': own.id,
      'x-consumer-groups': 'staff',
    }),
    'webhook secret': () => ({
      'x-webhook-signature': 'whsec_canary',
      'x-webhook-timestamp': String(now),
      ...bearer(`whsec_${randomUUID().replaceAll('-', '')}`),
    }),
    'cell key': () => bearer(own.token()),
    'cell key of another cell': () => bearer(other.token()),
    'cell key that nobody registered': () => bearer(own.token({ key: newKeyPair().privateJwk })),
    'cell token that has ended': () => bearer(own.token({ claims: { iat: now - 100, exp: now - 40 } })),
    'cell token for another management': () => bearer(own.token({ claims: { aud: 'https://other.example' } })),
  }
  return headers[kind]()
}
