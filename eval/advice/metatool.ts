// MetaTool (MIT, outside the repository): requests and the tool that serves each, of 199 with descriptions. Past events
// are made from it: the right tool three times in four, else one that is easily taken for it; a right one succeeds 95
// times in a hundred, a wrong one five times.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { randomFrom } from '@loci/daemon/advice/fold/beta.ts'
import { type Words, wordsOf } from '@loci/daemon/advice/fold/words.ts'
import { Bm25, type Event, rarity } from './baselines.ts'

const FILE = path.join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'metatool.json')
const TESTED = 1_500
const CONFUSABLE = 9

export interface Request {
  words: Words
  tool: number
}

export interface MetaTool {
  names: string[]
  descriptions: string[]
  requests: Request[]
  /** By tool, the tools with the most similar descriptions. */
  confusable: number[][]
}

/** null where the file is absent. */
export function readMetaTool(): MetaTool | null {
  const file = process.env.LOCI_EVAL_METATOOL ?? FILE
  if (!existsSync(file)) return null
  const { rows, des } = JSON.parse(readFileSync(file, 'utf8')) as {
    rows: [string, string][]
    des: Record<string, string>
  }
  const names = Object.keys(des).sort()
  const places = new Map(names.map((name, k) => [name, k]))
  const descriptions = names.map((name) => des[name] ?? '')
  const requests = rows.map(([text, name]) => ({ words: wordsOf(text), tool: places.get(name) ?? -1 }))
  return { names, descriptions, requests, confusable: confusableOf(names, descriptions) }
}

/** By cosine of the words of name and description, weighted by rarity. */
function confusableOf(names: readonly string[], descriptions: readonly string[]): number[][] {
  const { postings } = new Bm25(names, descriptions)
  const vectors = names.map(() => new Map<number, number>())
  for (const [key, list] of postings)
    for (const [k, count] of list) vectors[k]?.set(key, count * rarity(names.length, list.size))
  const units = vectors.map((vector) => {
    const norm = Math.sqrt([...vector.values()].reduce((sum, x) => sum + x * x, 0))
    return new Map([...vector].map(([key, x]) => [key, x / norm]))
  })
  return units.map((unit, k) => {
    const similar = units.map((other) => [...unit].reduce((sum, [key, x]) => sum + x * (other.get(key) ?? 0), 0))
    const order = names.map((_, j) => j).filter((j) => j !== k)
    return order.sort((x, y) => (similar[y] ?? 0) - (similar[x] ?? 0) || x - y).slice(0, CONFUSABLE)
  })
}

/** Requests to be answered and events of the past, by a seed. */
export function worldOf({ requests, confusable }: MetaTool, seed: number): { tests: Request[]; events: Event[] } {
  const random = randomFrom(seed)
  const shuffled = [...requests]
  for (let i = shuffled.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const [x, y] = [shuffled[i] as Request, shuffled[j] as Request]
    shuffled[i] = y
    shuffled[j] = x
  }
  const events = shuffled.slice(TESTED).map(({ words, tool }) => {
    const isRight = random() < 0.75
    const chosen = isRight ? tool : (confusable[tool]?.[Math.floor(random() * CONFUSABLE)] ?? tool)
    return { words, tool: chosen, isSuccess: random() < (isRight ? 0.95 : 0.05) }
  })
  return { tests: shuffled.slice(0, TESTED), events }
}
