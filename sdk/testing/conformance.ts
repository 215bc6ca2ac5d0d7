// sdk/conformance.json as tests: of the server, and of what stands in for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import file from '../conformance.json' with { type: 'json' }
import { LociError } from '../error.ts'
import type { Service } from '../services.ts'

interface Step {
  /** Left out: the service itself is asked. */
  user?: string
  /** `remember`, `kv.put`, `forgetUser` */
  call: string
  with: unknown[]
  as?: string
  gives?: unknown
  has?: unknown
  none?: true
  refused?: string
}

type Verb = (...given: unknown[]) => unknown

/** A test for each case, each in a service of its own. */
export function conformanceSuite(of: string, makeService: () => Promise<Service>): void {
  for (const { title, steps } of file.cases as { title: string; steps: Step[] }[])
    test(`${of}: ${title}`, async () => {
      const service = await makeService()
      const kept: { [name: string]: unknown } = {}
      for (const [at, step] of steps.entries()) await take(service, step, kept, `step ${at + 1}, ${step.call}`)
    })
}

async function take(service: Service, step: Step, kept: { [name: string]: unknown }, place: string): Promise<void> {
  const [name = '', inner] = step.call.split('.')
  const user = (step.user === undefined ? service : service.user(step.user)) as unknown as {
    [name: string]: Verb & { [name: string]: Verb }
  }
  const verbs = inner === undefined ? user : (user[name] as { [name: string]: Verb })
  const given = filled(step.with, kept) as unknown[]
  const outcome = await answered(() => verbs[inner ?? name]?.(...given))
  if (step.refused !== undefined) {
    assert.ok(outcome instanceof LociError, `${place} was answered`)
    assert.equal(outcome.code, step.refused, place)
    return
  }
  if (outcome instanceof LociError) throw new Error(`${place}: ${outcome.code} ${outcome.message}`)
  if (step.none) assert.equal(outcome, undefined, place)
  if (step.gives !== undefined) assertHas(outcome, filled(step.gives, kept), place)
  if (step.has !== undefined) assertHas({ ...(outcome as object) }, step.has, place)
  if (step.as !== undefined) kept[step.as] = outcome
}

/** The value, all items of a list, or the refusal. */
async function answered(call: () => unknown): Promise<unknown> {
  try {
    const value = await call()
    return value !== null && typeof value === 'object' && 'all' in value ? await (value as Listed).all() : value
  } catch (error) {
    if (error instanceof LociError) return error
    throw error
  }
}

interface Listed {
  all(): Promise<unknown[]>
}

/** `$name.field` is what was kept under that name. */
function filled(value: unknown, kept: { [name: string]: unknown }): unknown {
  if (typeof value === 'string' && value.startsWith('$')) {
    const [name = '', field = ''] = value.slice(1).split('.')
    return (kept[name] as { [field: string]: unknown })[field]
  }
  if (Array.isArray(value)) return value.map((one) => filled(one, kept))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, filled(inner, kept)]))
}

function assertHas(found: unknown, wanted: unknown, place: string): void {
  if (Array.isArray(wanted)) {
    assert.ok(Array.isArray(found), `${place} is no array`)
    assert.equal(found.length, wanted.length, `${place}: ${JSON.stringify(found).slice(0, 300)}`)
    for (const [at, one] of wanted.entries()) assertHas(found[at], one, `${place} [${at}]`)
  } else if (wanted !== null && typeof wanted === 'object') {
    for (const [field, one] of Object.entries(wanted))
      assertHas((found as { [field: string]: unknown } | undefined)?.[field], one, `${place}.${field}`)
  } else assert.deepEqual(found, wanted, place)
}
