// The OpenAPI document of the daemon, from its routes.

import { documentOf } from '@loci/chassis/documents.ts'
import type { Route } from '@loci/chassis/route.ts'

export function daemonDocument(routes: Route[], version: string): Record<string, unknown> {
  return documentOf(routes, {
    title: 'loci instance daemon',
    version,
    description: 'The data plane: memory and judgement of agents. Errors are listed at the end of /docs.',
    letterCase: 'camel',
    securitySchemes: {
      capability: {
        type: 'apiKey',
        in: 'header',
        name: 'x-loci-capability',
        description: 'A capability. Management makes one: `POST /api/v1/tenants/{id}/tokens`.',
      },
      partner: { type: 'http', scheme: 'bearer', description: 'A partner credential.' },
      legacyJwt: {
        type: 'http',
        scheme: 'bearer',
        description: 'Where legacy JWT verification is configured, beside the capability.',
      },
      adminToken: {
        type: 'apiKey',
        in: 'header',
        name: 'x-loci-admin-token',
        description: 'From an allowed address only.',
      },
    },
  })
}
