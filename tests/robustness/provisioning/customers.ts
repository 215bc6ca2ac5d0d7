// Customers of the real thing: each has a service made and changes its mind, over HTTP, and asks again until it is
// answered.

import { randomUUID } from 'node:crypto'
import type { WorldCaller } from '../../world/callers.ts'
import type { Random } from '../seeded.ts'

export interface Customer {
  caller: WorldCaller
  serviceId: string
  /** What it was told is so, by the last command that was taken. */
  word: 'active' | 'suspended' | 'deleted'
}

export interface Counter {
  /** One of management's processes that is there. */
  url(): string
  random: Random
  taken: number
  repeated: number
  /** Answers that no command of theirs deserves. */
  wrong: string[]
}

const TRY_MS_MAX = 60_000

/** Creates, then commands a few times, with pauses. */
export async function visit(counter: Counter, caller: WorldCaller, name: string): Promise<Customer> {
  const { random } = counter
  const made = await ask<{ service_id: string }>(counter, caller, 'POST', '/api/v1/services', {
    service_type: 'kv',
    name,
    plan: random.pick(['free', 'pro']),
  })
  const customer: Customer = { caller, serviceId: made.service_id, word: 'active' }
  const commands = random.below(5)
  for (let count = 0; count < commands && customer.word !== 'deleted'; count += 1) {
    await pause(random.below(random.chance(0.5) ? 20 : 1_500))
    await command(
      counter,
      customer,
      random.pick(['suspend', 'resume', 'retry', 'suspend', 'resume', 'update', 'delete']),
    )
  }
  return customer
}

export async function command(counter: Counter, customer: Customer, verb: string): Promise<void> {
  const path = `/api/v1/services/${customer.serviceId}`
  if (verb === 'delete') await ask(counter, customer.caller, 'DELETE', path)
  else if (verb === 'update')
    await ask(counter, customer.caller, 'PATCH', path, { config: { note: counter.random.text(8) } })
  else await ask(counter, customer.caller, 'POST', `${path}/${verb}`)
  if (verb === 'suspend') customer.word = 'suspended'
  if (verb === 'resume') customer.word = 'active'
  if (verb === 'delete') customer.word = 'deleted'
}

/** One thing, once: the same Idempotency-Key until somebody has answered. */
export async function ask<Answer>(
  counter: Counter,
  { apiKey }: WorldCaller,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const key = randomUUID()
  const until = Date.now() + TRY_MS_MAX
  for (;;) {
    const answer = await fetch(counter.url() + path, {
      method,
      headers: {
        'x-api-key': apiKey,
        ...(method === 'GET' ? {} : { 'idempotency-key': key }),
        ...(body ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(15_000),
    }).then(
      async (given) => ({ status: given.status, text: await given.text(), wait: given.headers.get('retry-after') }),
      () => undefined,
    )
    if (answer && answer.status < 300) {
      counter.taken += 1
      return JSON.parse(answer.text) as Answer
    }
    const isTransient = !answer || answer.status >= 500 || answer.status === 429 || /IN_PROGRESS/.test(answer.text)
    if (!isTransient || Date.now() > until) {
      counter.wrong.push(`${method} ${path}: ${answer?.status ?? 'no answer'} ${answer?.text ?? ''}`)
      throw new Error(counter.wrong.at(-1))
    }
    counter.repeated += 1
    await pause(answer?.wait ? Math.min(2_000, Number(answer.wait) * 1_000) : 100 + counter.random.below(200))
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
