import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '@loci/chassis/testing/request.ts'
import { type TestDaemon, testDaemon } from '../testing/daemon.ts'
import { type TestFeed, testFeed } from '../testing/feed.ts'

let feed: TestFeed
let first: TestDaemon
before(async () => {
  feed = await testFeed()
  first = await testDaemon({ settings: feed.settings })
})
after(async () => {
  await first?.[Symbol.asyncDispose]()
  await feed?.[Symbol.asyncDispose]()
})

interface LifecycleStatus {
  state: string
  reasons: string[]
}
const lifeOf = async (daemon: TestDaemon) => (await daemon.get('/v1/lifecycle/status')).json<LifecycleStatus>()

test('a replica that management knows says so in one line', async () => {
  const { message } = await first.logged(({ message }) => message.startsWith('joined'))
  assert.equal(message, 'joined: cell-1, epoch epoch-1, 0 instances')
  await eventually(async () => (await lifeOf(first)).state === 'ready')
})

// The second replica does not hold the lease, so it never reads the feed: before it asked by itself, its mistakes
// showed only when the first one died. Mutant: leave join.job out of feedJobs() and join.ask() out of warm() (ready,
// and no line).
const unknown: [string, { details: object }, RegExp, string][] = [
  [
    'key',
    { details: { reason: 'unknown_key' } },
    /^401: unknown key\. .* Register it: management cells keys --cell cell_\w+ --public-key [\w-]{43}$/,
    'management: this replica never joined: refused, unknown key',
  ],
  [
    'cell id',
    { details: { reason: 'unknown_cell' } },
    /^401: unknown cell\. http\S+ has no cell cell_\w+\. Compare LOCI_CELL_ID with: management cells list$/,
    'management: this replica never joined: refused, unknown cell id',
  ],
  [
    'audience',
    { details: { reason: 'audience', public_url: 'https://management.example' } },
    /^401: wrong audience\. LOCI_MANAGEMENT_URL is http\S+, management calls itself https:\/\/management\.example /,
    'management: this replica never joined: refused, LOCI_MANAGEMENT_URL is not its LOCI_PUBLIC_URL',
  ],
  [
    'clock',
    { details: { reason: 'clock' } },
    /^401: wrong clock\. The clock of this machine is (5[0-9]\d|60\d) s behind management's: let NTP set/,
    'management: this replica never joined: refused, the clocks differ',
  ],
]
for (const [name, refusal, line, shown] of unknown)
  test(`a wrong ${name} on a second replica has its own line, and the replica is degraded`, async () => {
    // Said anew by each test: what comes before it takes its time.
    const date = new Date(Date.now() + 600_000).toUTCString()
    feed.refusal = name === 'clock' ? { ...refusal, date } : refusal
    await using second = await testDaemon({ replicaOf: first, settings: feed.settings })
    const logged = await second.logged(({ message }) => message.startsWith('management refuses this cell'))
    assert.match(String(logged.reason), line)
    const life = await lifeOf(second)
    assert.deepEqual([life.state, life.reasons], ['degraded', [shown]])
    assert.deepEqual((await second.get('/health/ready')).json(), { status: 'degraded' })

    feed.refusal = undefined
    await second.logged(({ message }) => message.startsWith('joined'))
    await eventually(async () => (await lifeOf(second)).state === 'ready')
  })

test('an unreachable management is logged with its address and the cause', async () => {
  const nobody = await testFeed()
  await nobody[Symbol.asyncDispose]()
  await using second = await testDaemon({ replicaOf: first, settings: nobody.settings })
  const logged = await second.logged(({ message }) => message.startsWith('management does not answer'))
  assert.equal(logged.reason, `${nobody.settings.managementUrl}: ECONNREFUSED`)
  assert.deepEqual((await lifeOf(second)).reasons, [
    'management: no contact since this replica started: it does not answer',
  ])
  const blamed = second.lines.filter((text) => /"component":"feed".*database/.test(text))
  assert.deepEqual(blamed, [], 'the database is not blamed')
})
