// What a developer types to connect: of a service, by the way that was chosen. The token stands in a variable, so no
// line that is copied holds a secret.

export const WAYS = ['MCP', 'TypeScript', 'curl'] as const
export type Way = (typeof WAYS)[number]

interface Connected {
  slug: string
  name: string
  endpoint: string | null
}

export function linesOf(way: Way, { slug, endpoint }: Connected): string {
  const url = endpoint ?? 'https://…'
  if (way === 'MCP') return `loci use ${slug}\nloci mcp install claude-code`
  if (way === 'TypeScript')
    return `npm install @locihq/sdk

import { Loci } from '@locihq/sdk'

const loci = new Loci({ url: '${url}', token: process.env.LOCI_TOKEN })
const memory = loci.service().user('ada')
await memory.remember('Ada prefers replies in Dutch')`
  return `curl -s ${url}/v1/memory/records \\
  -H "x-loci-capability: $LOCI_TOKEN" -H 'content-type: application/json' \\
  -d '{"content":"Ada prefers replies in Dutch"}'`
}
