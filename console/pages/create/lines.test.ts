import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linesOf, WAYS } from './lines.ts'

// Mutant: the token in the line of curl.
test('what is copied to connect names the service, and holds no secret', () => {
  const service = { slug: 'my-agent-t4h0ze', name: 'My agent', endpoint: 'https://cell.example' }
  for (const way of WAYS) {
    const text = linesOf(way, service)
    assert.match(text, way === 'MCP' ? /loci use my-agent-t4h0ze/ : /https:\/\/cell\.example/)
    assert.doesNotMatch(text, /eyJ|loci_sk_/)
  }
})
