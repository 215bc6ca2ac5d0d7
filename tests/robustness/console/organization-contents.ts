// The numbers of the pages of an organization and of staff, against those of the API.

import { connectManagement } from '@loci/sdk/client.ts'
import type { Report } from '../../world/report.ts'
import { openPage, type Scene, settled } from './scene.ts'

/** Tokens, members, the plan and cells: each number that the pages of the organization and of staff show first. */
export async function organizationAgainstApi(report: Report, scene: Scene): Promise<void> {
  const { ada, acme, origin } = scene
  const management = connectManagement({ url: origin, headers: () => ({ 'x-api-key': acme.apiKey }) })
  const path = { id: acme.tenantId }
  const problems: string[] = []
  const same = (what: string, shown: unknown, expected: unknown) => {
    if (JSON.stringify(shown) !== JSON.stringify(expected))
      problems.push(`${what}: ${JSON.stringify(shown)} instead of ${JSON.stringify(expected)}`)
  }
  const page = await openPage(scene, ada, '/o/tokens?ended=yes&own=yes', '.tk .tree i')
  const { body: list } = await management.call('GET /api/v1/tenants/{id}/tokens', { path, query: { limit: 200 } })
  const all = list.tokens.flatMap(({ token_id, children }) => [token_id, ...children.map(({ jti }) => jti)])
  const shown = await page.locator('.tk tbody .id').evaluateAll((ids) => ids.map((id) => id.getAttribute('title')))
  same('ids of tokens', shown.toSorted(), all.toSorted())
  const isAlive = (one: { expires_at: string; revoked_at: string | null }) =>
    one.revoked_at === null && Date.parse(one.expires_at) > Date.now()
  // The console asks with some of its own, which nobody made.
  const theirs = list.tokens.filter((one) => isAlive(one) && one.name !== 'console')
  const label = await page.locator('.seg a').first().innerText()
  same('capabilities', label.trim(), `Capabilities ${theirs.length}`)
  await page.goto(`${origin}/o/tokens`)
  await settled(page, '.tk .tree i')
  const names = await page.locator('.tk tr:not(.ch) .tree b').allInnerTexts()
  same(
    'tokens that somebody made',
    names,
    theirs.map(({ name }) => name),
  )

  await page.goto(`${origin}/o/members`)
  await settled(page, 'text=sam@acme.example')
  const { body: people } = await management.call('GET /api/v1/organizations/{id}/members', {
    path: { id: acme.organizationId },
  })
  const rows = await page.locator('.people tbody tr').count()
  same('members', rows, people.members.length)

  await page.goto(`${origin}/o/usage`)
  await settled(page, '.said .tag.ok')
  const { body: status } = await management.call('GET /api/v1/tenants/{id}/status', { path })
  const services = await page.locator('.meters > div').first().innerText()
  const { used, limit } = status.limits.services
  same('services', services.replace(/\s+/g, ' '), `Services ${used} of ${limit.toLocaleString('en')}`)
  const { body: events } = await management.call('GET /api/v1/tenants/{id}/billing/events', { path })
  same('billing events', await page.locator('.said tbody tr').count(), events.events.length)

  await page.goto(`${origin}/staff/cells`)
  await settled(page, '.cells .meter')
  const cells = await page.evaluate<{ cells: { placed: number; capacity: number }[] }>(
    `fetch('/api/v1/cells').then((answer) => answer.json())`,
  )
  const placed = await page.locator('.cells tbody .tn').allInnerTexts()
  const expected = cells.cells.map((one) => `${one.placed} of ${one.capacity.toLocaleString('en')}`)
  same('placed', placed, expected)
  await page.close()
  for (const line of problems) report.note(line)
  report.promise(
    'tokens, members, the plan, events of billing and cells are those of the API, each of them',
    problems.length === 0,
    `${all.length} tokens, ${people.members.length} members, ${used} services, ${expected.length} cells`,
  )
}
