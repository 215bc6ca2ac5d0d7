// The OpenAPI document of the daemon, from its routes.

import { documentOf } from '@loci/chassis/documents.ts'
import type { Route } from '@loci/chassis/route.ts'
import examples from './examples.json' with { type: 'json' }

export function daemonDocument(routes: Route[], version: string): Record<string, unknown> {
  return documentOf(routes, {
    title: 'loci instance daemon',
    version,
    description: 'The data plane: memory and judgement of agents. Errors are listed at the end of /docs.',
    letterCase: 'camel',
    address: 'D',
    examples,
    tags: {
      admin: 'For who runs the cell: its switches, revocations and audit.',
      advice: 'Which tool to take for a task, by how tools did before.',
      audit: 'Who changed what in this instance.',
      'cognitive cycles': 'What takes in observations and decides what stays in mind.',
      databases: 'The people, teams or agents that a service keeps apart.',
      documents: 'This documentation.',
      events: 'What happens, as it happens.',
      health: 'Probes, state and metrics of the process.',
      kv: 'Entries by key, with versions and times to live.',
      mcp: 'The tools of the Model Context Protocol.',
      memory: 'What was remembered: store, recall with reasons, forget.',
      projections: 'What partners tell.',
      system: 'What this daemon is.',
      'working memory': 'The slots that are in mind now.',
    },
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
