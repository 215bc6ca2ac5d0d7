// Tools, outcomes and requests for the benchmark of advice: words by Zipf, each tool with a few of its own.

import { randomFrom } from '@loci/daemon/advice/fold/beta.ts'

const WORDS = 3_000

export interface Outcome {
  tool: string
  outcome: string
  intent: string
  taskClass: string
}

export function catalogueOf(tools: number, seed = 1) {
  const random = randomFrom(seed)
  const common = () => `word${Math.floor(WORDS ** random())}`
  const names = Array.from({ length: tools }, (_, k) => `service_${k % 97}.action${k}`)
  const own = names.map(() => Array.from({ length: 6 }, () => `topic${Math.floor(random() * tools * 2)}`))
  const intentOf = (k: number) => {
    const topics = own[k] ?? []
    const said = Array.from({ length: 3 }, () => topics[Math.floor(random() * topics.length)])
    return [...said, ...Array.from({ length: 6 }, common)].join(' ')
  }
  const any = () => Math.floor(random() * tools)
  const outcome = (): Outcome => {
    const [right, chosen] = [any(), any()]
    const isRight = random() < 0.75
    return {
      tool: names[isRight ? right : chosen] ?? '',
      outcome: random() < (isRight ? 0.95 : 0.05) ? 'success' : 'failure',
      intent: intentOf(right),
      taskClass: `class${Math.floor(random() * 5)}`,
    }
  }
  return { outcome, intent: () => intentOf(any()) }
}
