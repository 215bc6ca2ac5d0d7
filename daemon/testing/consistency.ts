import type { TestAnswer } from '@loci/chassis/testing/request.ts'

interface Report {
  status: string
  coverage: { nextCursor: string | null }
}

/**
 * What a full check finds in the end: on a busy machine one answer covers only a part, and what is written meanwhile
 * leaves a walk undecided.
 */
export async function fullConsistency(call: (line: string) => Promise<TestAnswer>): Promise<string> {
  for (let cursor = ''; ; ) {
    const { status, coverage } = (await call(`GET /v1/kv/consistency?mode=full${cursor}`)).json<Report>()
    if (status !== 'unknown') return status
    cursor = coverage.nextCursor === null ? '' : `&cursor=${coverage.nextCursor}`
  }
}

/**
 * One answer that covers everything, of data small enough for that: a call works for half a second at most, which on a
 * busy machine may end in the middle.
 */
export async function wholeAnswer(call: () => Promise<TestAnswer>): Promise<TestAnswer> {
  for (;;) {
    const answer = await call()
    if (answer.status !== 200 || answer.json<Report>().coverage.nextCursor === null) return answer
  }
}
