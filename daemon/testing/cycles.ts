// Cycles of a tenant under test.

import type { TestAnswer } from '@loci/chassis/testing/request.ts'
import type { Cycle, CycleRun } from '@loci/contract/cognitive.ts'
import type { TestTenant } from './tenant.ts'

const CYCLE_RIGHTS = {
  ops: [
    ...['cycles:run', 'cycles:read', 'wm:read', 'wm:write', 'wm:delete', 'memory:read', 'memory:write'],
    ...['memory:delete', 'system:read'],
  ],
  ks: ['*/*'],
}

const TRIES_MAX = 100

export interface TestCycles {
  call(line: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  operator(line: string, body?: unknown, headers?: Record<string, string>): Promise<TestAnswer>
  /** 200, or throws. */
  run(body?: CycleRun, headers?: Record<string, string>): Promise<Cycle>
  get<Body>(path: string): Promise<Body>
}

/** With every right on cycles, working memory and memory, in one database. */
export function cyclesOf(tenant: TestTenant, db: string): TestCycles {
  const token = tenant.mint(CYCLE_RIGHTS)
  const operator = tenant.mint({ ops: ['operator'], ks: ['*/*'] })
  const good = (answer: TestAnswer) => {
    if (answer.status !== 200) throw new Error(answer.text)
    return answer
  }
  const call = (line: string, body?: unknown, headers: Record<string, string> = {}) =>
    tenant.call(line, body, { db, token, headers })
  return {
    call,
    operator: (line, body, headers = {}) => tenant.call(line, body, { db, token: operator, headers }),
    async run(body = {}, headers = {}) {
      for (let tries = 0; ; tries += 1) {
        const answer = await call('POST /v1/cognitive/cycles', body, headers)
        // A busy machine: nothing was done, by the answer's own word.
        if (answer.status !== 503 || tries >= TRIES_MAX) return good(answer).json()
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    },
    get: async (path) => good(await call(`GET ${path}`)).json(),
  }
}
