// Who may call what: the reviewed table of every route of management. matrix.test.ts holds the running router against it.

import type { Matrix } from '@loci/chassis/test-matrix.ts'
import { cookieNames, HEADER } from '@loci/contract/headers.ts'

/**
 * Those of PROMISES.md that exist before sessions, keys and cells do. The others (session, expired session, each role, scopes,
 * gateway with proof, staff, cell key, webhook secret, …) come with the credentials themselves.
 */
const KINDS = ['none', 'garbage cookie', 'API key', 'capability', 'forged x-consumer-*'] as const

export type Kind = (typeof KINDS)[number]

const open = { class: 'open' }

export const MATRIX: Matrix<Kind> = {
  kinds: KINDS,

  rows: {
    'GET /health/live': open,
    'GET /health/ready': open,
    'GET /health/startup': open,
    'GET /health/lifecycle': open,
    'GET /metrics': open,
    'GET /openapi.json': open,
    'GET /docs': open,
  },

  expected: {
    open: {
      none: 'admitted',
      'garbage cookie': 'as none',
      'API key': 'as none',
      capability: 'as none',
      'forged x-consumer-*': 'as none',
    },
  },
}

const { access, refresh } = cookieNames('http://127.0.0.1')

export const CREDENTIALS: Record<Kind, Record<string, string>> = {
  none: {},
  'garbage cookie': { cookie: `${access}=garbage; ${refresh}=garbage; =;;` },
  'API key': { [HEADER.apiKey]: `loci_sk_${'k'.repeat(43)}`, authorization: `Bearer loci_sk_${'k'.repeat(43)}` },
  capability: { [HEADER.capability]: 'eyJhbGciOiJub25lIn0.eyJvcHMiOlsib3BlcmF0b3IiXX0.' },
  'forged x-consumer-*': {
    'x-consumer-id': 'staff',
    'x-consumer-username': 'staff',
    'x-consumer-custom-id': 'org_x',
    'x-consumer-groups': 'staff',
  },
}
