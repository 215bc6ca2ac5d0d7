// What a suspended instance, and a cell without word from management, still do: one table for every class of access.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Access, route } from '@loci/chassis/route.ts'
import { ask } from '@loci/chassis/testing/request.ts'
import { testHttpServer } from '@loci/chassis/testing/server.ts'
import { HEADER } from '@loci/contract/headers.ts'
import type { Effect } from '@loci/contract/operations.ts'
import { STATE_REASON_NAMES } from '@loci/contract/states.ts'
import { anyObject } from '@loci/contract/wire.ts'
import { type TestAuthority, type TestInstance, testAuthority } from '../testing/authority.ts'
import { partnerToken } from '../testing/credentials.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { testFeed } from '../testing/feed.ts'

/** A route of every class for every effect that it has, by `<class> <effect>`. */
async function probes({ daemon }: TestDaemon) {
  const { capability, operator, partner } = daemon.access
  const shared = { method: 'POST', summary: 's', tag: 't', answers: { 200: anyObject } } as const
  const all: Record<string, Access<unknown>> = {
    'capability read': capability('kv:read'),
    'capability write': capability('cycles:run'),
    'capability delete': capability('memory:delete'),
    'operator operate': operator('operate'),
    'operator write': operator('write', 'cognitive'),
    'partner read': partner('advice'),
    'partner write': partner('projections'),
  }
  const pathOf = (name: string) => `/${name.replace(' ', '/')}`
  const server = await testHttpServer(
    Object.entries(all).map(([name, access]) => route({ ...shared, path: pathOf(name), access }, () => ({}))),
  )
  const send = (name: string, headers: Record<string, string>) => ask(server.url, `POST ${pathOf(name)}`, { headers })
  return { ...server, names: Object.keys(all), send }
}

async function headersOf(authority: TestAuthority, instance: TestInstance, name: string) {
  if (name.startsWith('partner'))
    return { authorization: `Bearer ${await partnerToken(authority, instance, ['event'])}` }
  const ops = name.startsWith('operator') ? ['operator'] : ['kv:read', 'cycles:run', 'memory:delete']
  return { [HEADER.capability]: instance.root({ ops, ks: ['*/*'] }) }
}

type Outcomes = Record<Effect, string>

/** By effect, what all classes agree on; a difference is shown by name. */
async function outcomesOf(server: Awaited<ReturnType<typeof probes>>, headers: Map<string, Record<string, string>>) {
  const outcomes: Partial<Outcomes> = {}
  for (const name of server.names) {
    const effect = name.split(' ')[1] as Effect
    const answer = await server.send(name, headers.get(name) ?? {})
    const outcome = answer.status === 200 ? '200' : `${answer.status} ${answer.error.code}`
    assert.equal(outcomes[effect] ?? outcome, outcome, `${name} differs from the other classes`)
    outcomes[effect] = outcome
  }
  return outcomes
}

const SERVED: Outcomes = { read: '200', write: '200', delete: '200', operate: '200' }

/** The reviewed table. The last three: reasons that this release does not know, and none. */
const SUSPENDED: [reason: string | null, outcomes: Outcomes][] = [
  ['suspended', { ...SERVED, write: '403 FORBIDDEN' }],
  ['unpaid', { ...SERVED, write: '402 PAYMENT_REQUIRED' }],
  ['plan_not_covered', { ...SERVED, write: '402 PLAN_NOT_COVERED' }],
  [
    'unpaid_off',
    {
      read: '402 PAYMENT_REQUIRED',
      write: '402 PAYMENT_REQUIRED',
      delete: '402 PAYMENT_REQUIRED',
      operate: '402 PAYMENT_REQUIRED',
    },
  ],
  ['reason_of_a_later_release', { ...SERVED, write: '403 FORBIDDEN' }],
  ['constructor', { ...SERVED, write: '403 FORBIDDEN' }],
  [null, { ...SERVED, write: '403 FORBIDDEN' }],
]

// Mutants: `route === 'projections' && state === 'suspended'` in partner access, 402 whatever the reason;
// `state_reason: z.enum(…)` in the feed's schema (the page with the later reason is never applied);
// `STATE_REASONS[reason]` without knownReason() (500); operator('write') with the effect of its operation.
test('a suspended instance refuses the same to capabilities, operators and partners, by the effect and the reason', async () => {
  await using feed = await testFeed()
  await using daemon = await testDaemon({ settings: feed.settings })
  await using authority = await testAuthority(daemon, feed)
  await using server = await probes(daemon)
  const instance = await authority.addInstance()
  const headers = new Map<string, Record<string, string>>()
  for (const name of server.names) headers.set(name, await headersOf(authority, instance, name))

  for (const [reason, outcomes] of SUSPENDED) {
    await instance.change({ state: 'active', state_reason: null })
    assert.deepEqual(await outcomesOf(server, headers), SERVED, 'active')
    await instance.change({ state: 'suspended', state_reason: reason })
    assert.deepEqual(await outcomesOf(server, headers), outcomes, String(reason))
  }
  assert.deepEqual(
    STATE_REASON_NAMES.filter((name) => !SUSPENDED.some(([reason]) => reason === name)),
    [],
    'every reason has a row',
  )
})

// Mutant: partner access without requireServed().
test('a cell without contact to management for too long refuses writes and operators of every class, and nothing else', async () => {
  await using daemon = await testDaemon()
  await using authority = await testAuthority(daemon)
  await using server = await probes(daemon)
  const instance = await authority.addInstance()
  const headers = new Map<string, Record<string, string>>()
  for (const name of server.names) headers.set(name, await headersOf(authority, instance, name))
  const heardBefore = async (hours: number) => {
    await daemon.sql(`update loci.cell set feed_heard_at = clock_timestamp() - $1 * interval '1 hour'`, [hours])
    await authority.settle()
    return outcomesOf(server, headers)
  }

  assert.deepEqual(await heardBefore(23.9), SERVED)
  const stale = '503 AUTHORITY_STALE'
  assert.deepEqual(await heardBefore(24.1), { ...SERVED, write: stale, operate: stale })
  assert.deepEqual(await heardBefore(0), SERVED)
})
