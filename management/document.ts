// The OpenAPI document of management, from its routes.

import { documentOf } from '@loci/chassis/documents.ts'
import type { Route } from '@loci/chassis/route.ts'
import { cookieNames, HEADER } from '@loci/contract/headers.ts'

export function managementDocument(routes: Route[], version: string, publicUrl: string): Record<string, unknown> {
  const cookies = cookieNames(publicUrl)
  return documentOf(routes, {
    title: 'loci management',
    version,
    description:
      'The control plane: organizations, tenants, services, tokens, billing. Errors are listed at the end of /docs.',
    letterCase: 'snake',
    address: 'M',
    tags: {
      'api-keys': 'Credentials of programs.',
      audit: 'Who did what in the organization.',
      billing: 'What the payment provider says of tenants.',
      cells: 'Where services live, and what their cells ask and report.',
      'cli-logins': 'Sign-in on a command line.',
      documents: 'This documentation.',
      events: 'What happens in the organization.',
      health: 'Probes, state and metrics of the process.',
      keys: 'The public keys of capabilities.',
      oauth: 'Access for clients of /mcp that a person allows.',
      operations: 'What became of commands.',
      organizations: 'Customers, their members and invitations.',
      pages: 'What a browser shows.',
      'partner credentials': 'Credentials of partners, each bound to one database.',
      proxy: 'The service itself, for pages of the console.',
      services: 'What a tenant creates: memory for agents.',
      sessions: 'Who is signed in.',
      tenants: 'The parts of an organization that own services and are billed.',
      tokens: 'Capabilities for services.',
      usage: 'What services were asked and hold.',
    },
    securitySchemes: {
      apiKey: {
        type: 'apiKey',
        in: 'header',
        name: HEADER.apiKey,
        description: 'loci_sk_…, made by an owner or admin of the organization.',
      },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: cookies.access,
        description: 'Set by POST /api/auth/exchange. Not for requests that another site caused.',
      },
      sessionHandle: {
        type: 'apiKey',
        in: 'cookie',
        name: cookies.refresh,
        description: 'Set beside the session; good for a refresh and for nothing else.',
      },
      webhook: {
        type: 'http',
        scheme: 'bearer',
        description:
          'The secret that the payment provider was given. Where a signing secret is set, its signature as well.',
      },
      cell: {
        type: 'http',
        scheme: 'bearer',
        description: 'A JWS of type loci-cell+jwt, signed with the key of a registered cell, for at most a minute.',
      },
    },
  })
}
