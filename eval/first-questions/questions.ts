// The first questions of somebody new: facts as they are typed, questions about them, questions about what was never
// stored, and sentences about other people that fill a store. Written for this project; the halves are by subject, so
// that no fact has questions in both. `dev` may be tuned on, `test` is only measured.

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

interface Fact {
  id: string
  lang: string
  entity: string
  text: string
}

export interface Asked {
  id: string
  lang: string
  half: Half
  entity: string | null
  text: string
  /** The fact that answers it; none of a question about what is not stored. */
  fact?: string
  kind?: string
  isNamed?: boolean
  /** Of an unknown one: about a subject that is stored. */
  near?: boolean
}

export interface FirstQuestions {
  facts: Fact[]
  questions: Asked[]
  unknown: Asked[]
  distractors: { lang: string; text: string }[]
}

export type Half = 'dev' | 'test'
export const SIZES = [1, 2, 5, 20, 200] as const

const FILE = path.join(import.meta.dirname, '..', '..', '..', 'shared', 'data', 'first-questions.json')

/** null where the file is absent. */
export function readFirstQuestions(): FirstQuestions | null {
  const file = process.env.LOCI_EVAL_FIRST_QUESTIONS ?? FILE
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as FirstQuestions) : null
}

export interface Store {
  /** In the order of storing. */
  texts: string[]
  /** Where in it the answer is; -1 without one. */
  gold: number
}

/**
 * The store that a question is asked of: the fact, other facts about the same subject, then about others, and from 20
 * records on every second one of those from the distractors. Drawn by a seed of question and size.
 */
export function storeOf({ facts, distractors }: FirstQuestions, asked: Asked, size: number): Store {
  const shuffle = shuffler(`${asked.id} ${size}`)
  const speaking = facts.filter(({ lang }) => lang === asked.lang)
  const gold = speaking.find(({ id }) => id === asked.fact)
  const isAbout = ({ entity }: Fact) => entity === asked.entity
  const same = shuffle(speaking.filter((fact) => fact !== gold && isAbout(fact)))
  const others = shuffle(speaking.filter((fact) => fact !== gold && !isAbout(fact)))
  const fillers = shuffle(distractors.filter(({ lang }) => lang === asked.lang))
  const besides = gold ? size - 1 : size
  const nearby = same.slice(0, size < 5 ? besides : size < 20 && gold ? 2 : 9)
  const rest = size < 20 ? others : alternately(others, fillers)
  const chosen = shuffle([...(gold ? [gold] : []), ...nearby, ...rest].slice(0, size))
  return { texts: chosen.map(({ text }) => text), gold: gold ? chosen.indexOf(gold) : -1 }
}

function alternately<T>(one: readonly T[], other: readonly T[]): T[] {
  const most = Math.max(one.length, other.length)
  return Array.from({ length: most }, (_, at) => [...one.slice(at, at + 1), ...other.slice(at, at + 1)]).flat()
}

/** Fisher and Yates, with the finaliser of MurmurHash3 as the source of chance and FNV-1a of the name as its seed. */
function shuffler(name: string) {
  let state = [...name].reduce(
    (hash, letter) => Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 0x0100_0193),
    0x811c_9dc5,
  )
  const next = () => {
    state = Math.imul(state ^ (state >>> 15), 0x85eb_ca6b)
    state = Math.imul(state ^ (state >>> 13), 0xc2b2_ae35)
    state ^= state >>> 16
    return (state >>> 0) / 2 ** 32
  }
  return <T>(list: readonly T[]): T[] => {
    const shuffled = [...list]
    for (let last = shuffled.length - 1; last > 0; last -= 1) {
      const at = Math.floor(next() * (last + 1))
      const moved = shuffled[last] as T
      shuffled[last] = shuffled[at] as T
      shuffled[at] = moved
    }
    return shuffled
  }
}
