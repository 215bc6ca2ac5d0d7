import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMetrics } from './metrics.ts'

test('requests are counted by template, method and class of status, and by nothing else', async () => {
  const metrics = createMetrics({ version: '1.2.3' })
  for (const status of [200, 201, 404, 499, 503, 0])
    metrics.observeRequest('/v1/kv/entries/{key}', 'GET', status, 0.004)
  const text = await metrics.registry.metrics()
  const counts = [...text.matchAll(/^loci_http_request_duration_seconds_count\{(.*)\} (\d+)$/gm)]
  assert.deepEqual(counts.map(([, labels, count]) => `${labels} ${count}`).sort(), [
    'route="/v1/kv/entries/{key}",method="GET",code="2xx" 2',
    'route="/v1/kv/entries/{key}",method="GET",code="4xx" 2',
    'route="/v1/kv/entries/{key}",method="GET",code="5xx" 1',
    'route="/v1/kv/entries/{key}",method="GET",code="none" 1',
  ])
  assert.match(text, /le="0.005",.*code="2xx"\} 2$/m)
  assert.match(text, /^loci_build_info\{version="1\.2\.3"\} 1$/m)
})

test('a gauge is read when it is scraped', async () => {
  const metrics = createMetrics({ version: 'x' })
  let value = 1
  metrics.gauge('loci_test_value', 'A value.', () => value)
  value = 7
  assert.match(await metrics.registry.metrics(), /^loci_test_value 7$/m)
})

test('a counter counts by its labels', async () => {
  const metrics = createMetrics({ version: 'x' })
  const counter = metrics.counter('loci_test_total', 'Things.', ['kind'] as const)
  counter.inc({ kind: 'a' })
  counter.inc({ kind: 'a' }, 2)
  assert.match(await metrics.registry.metrics(), /^loci_test_total\{kind="a"\} 3$/m)
})

test('two programs in one process do not share their numbers', async () => {
  const [one, two] = [createMetrics({ version: 'x' }), createMetrics({ version: 'x' })]
  one.observeRequest('/only-one', 'GET', 200, 0.1)
  assert.doesNotMatch(await two.registry.metrics(), /only-one/)
})

test('a name may be taken once', () => {
  const metrics = createMetrics({ version: 'x' })
  metrics.gauge('loci_test_value', 'A value.', () => 1)
  assert.throws(() => metrics.gauge('loci_test_value', 'Another.', () => 2), /already been registered/)
})

// What `promtool check metrics` says of names; the scorecard runs the program itself. Mutant: MISNAMED is empty.
test('every metric is named as Prometheus wants it: a counter and nothing else ends in _total, none names its type', async () => {
  const metrics = createMetrics({ version: 'x' })
  metrics.counter('loci_test_total', 'Things.', [])
  const types = [...(await metrics.registry.metrics()).matchAll(/^# TYPE (\S+) (\S+)$/gm)]
  const misnamed = types.filter(
    ([, name = '', type]) =>
      name.endsWith('_total') !== (type === 'counter') || /_(?:counter|gauge|histogram|summary)(?:_|$)/.test(name),
  )
  assert.deepEqual(
    misnamed.map(([, name]) => name),
    [],
  )
  assert.ok(types.length > 20)
})
