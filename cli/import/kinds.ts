// The kinds of sources, and which of them a thing looks like.

import { AMS } from './ams.ts'
import { CHATGPT } from './chatgpt.ts'
import { CLAUDE } from './claude.ts'
import { type Item, isObject, type Kind } from './kind.ts'
import { LANGGRAPH } from './langgraph.ts'
import { LETTA } from './letta.ts'
import { MEM0 } from './mem0.ts'
import { NDJSON } from './ndjson.ts'

export const KINDS: readonly Kind[] = [MEM0, AMS, LANGGRAPH, LETTA, CHATGPT, CLAUDE, NDJSON]

export function kindOf(name: string): Kind {
  return KINDS.find((kind) => kind.name === name) as Kind
}

const LIKENESS_MIN = 0.34

/** The kind whose telling fields most of these have. */
export function likeliest(items: readonly Item[]): Kind | undefined {
  const names = new Set(items.flatMap(({ path, value }) => [...path, ...(isObject(value) ? Object.keys(value) : [])]))
  const ranked = KINDS.map((kind) => ({
    kind,
    likeness: kind.telling.filter((name) => names.has(name)).length / kind.telling.length,
  })).sort((a, b) => b.likeness - a.likeness)
  const [best] = ranked
  return best && best.likeness >= LIKENESS_MIN ? best.kind : undefined
}
