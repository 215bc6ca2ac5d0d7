// The rooms of a program as its SQL sees them: which functions.sql calls functions of which other room, or writes and
// reads its tables. tidy knew imports alone, so a second house stood in SQL that nobody drew.

import type { Problem } from './layers.ts'
import { lineAt, type Tree } from './source.ts'

export interface SqlFunction {
  name: string
  room: string
  path: string
  line: number
  /** The number of values that a caller hands in. */
  parameters: number
  calls: ReadonlySet<string>
  tables: ReadonlySet<string>
}

export interface SqlShape {
  functions: SqlFunction[]
  lines: number
  /** By room, the rooms whose functions it calls or whose tables it names. */
  edges: Map<string, Set<string>>
  /** Rooms that need each other. */
  circle: string[]
  /** Functions with more parameters than PARAMETERS_MAX. */
  wide: SqlFunction[]
}

export const PARAMETERS_MAX = 12

/** The room that each table belongs to. */
const TABLE_ROOMS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  daemon: {
    advice_passed: 'advice',
    advice_snapshots: 'advice',
    advice_tools: 'advice',
    advice_weights: 'advice',
    contexts: 'memory',
    records: 'memory',
    segments: 'memory',
    tombstones: 'memory',
    cycles: 'cycles',
    cycle_decisions: 'cycles',
    entries: 'kv',
    projections: 'projections',
    clears: 'working-memory',
    evictions: 'working-memory',
    slot_versions: 'working-memory',
    working_memory: 'working-memory',
    configs: 'databases',
    databases: 'databases',
    deletions: 'databases',
    due: 'databases',
    instances: 'databases',
    instance_totals: 'databases',
    verified: 'databases',
    events: 'events',
    event_heads: 'events',
    idempotency: 'idempotency',
  },
}

/**
 * What stands there, and what the worked feature of CONTRIBUTING.md adds: these only fall. The redesign in which the
 * daemon decides and PostgreSQL keeps wants 90 functions, 2,800 lines, 14 edges and no circle.
 */
const MAXIMA: Readonly<Record<string, Maxima>> = {
  daemon: { functions: 244, lines: 6_474, edges: 29, circle: 0, wide: 18 },
  management: { functions: 17, lines: 318, edges: 0, circle: 0, wide: 0 },
}

interface Maxima {
  functions: number
  lines: number
  edges: number
  /** Rooms in it. */
  circle: number
  wide: number
}

export function sqlShape(tree: Tree, program: string): SqlShape {
  const functions: SqlFunction[] = []
  let lines = 0
  for (const [path, text] of tree) {
    if (!path.startsWith(`${program}/`) || !path.endsWith('/functions.sql') || path.includes('/testing/')) continue
    lines += text.split('\n').length - 1
    functions.push(...functionsOf(path, text))
  }
  const homes = new Map(functions.map(({ name, room }) => [name, room]))
  const edges = new Map<string, Set<string>>()
  for (const { room, calls, tables } of functions) {
    const others = [
      ...[...calls].map((name) => homes.get(name)),
      ...[...tables].map((name) => TABLE_ROOMS[program]?.[name]),
    ]
    for (const other of others) {
      if (other === undefined || other === room) continue
      edges.set(room, (edges.get(room) ?? new Set()).add(other))
    }
  }
  const wide = functions.filter(({ parameters }) => parameters > PARAMETERS_MAX)
  return { functions, lines, edges, circle: circleOf(functions, homes, program), wide }
}

/** Two rooms of which each needs the other cannot be read one after the other. */
function circleOf(functions: SqlFunction[], homes: ReadonlyMap<string, string>, program: string): string[] {
  const reach = new Map<string, Set<string>>()
  for (const { room, calls, tables } of functions) {
    const to = reach.get(room) ?? new Set<string>()
    reach.set(room, to)
    for (const name of calls) if (homes.has(name)) to.add(homes.get(name) as string)
    for (const name of tables) if (TABLE_ROOMS[program]?.[name]) to.add(TABLE_ROOMS[program]?.[name] as string)
  }
  for (let grew = true; grew; ) {
    grew = false
    for (const to of reach.values())
      for (const room of [...to])
        for (const further of reach.get(room) ?? [])
          if (!to.has(further)) {
            to.add(further)
            grew = true
          }
  }
  return [...reach]
    .filter(([room, to]) => [...to].some((other) => other !== room && reach.get(other)?.has(room)))
    .map(([room]) => room)
    .sort()
}

function functionsOf(path: string, text: string): SqlFunction[] {
  const code = text.replaceAll(/--[^\n]*/g, (comment) => ' '.repeat(comment.length))
  const heads = [...code.matchAll(/\bcreate or replace function loci\.(\w+)\s*\(/g)]
  return heads.map((head, at) => {
    const open = head.index + head[0].length - 1
    const close = closing(code, open)
    const body = code.slice(close, heads[at + 1]?.index ?? code.length)
    return {
      name: head[1] as string,
      room: path.split('/')[1] as string,
      ...{ path, line: lineAt(text, head.index) },
      parameters: listed(code.slice(open + 1, close)).filter((one) => !/^out\s/.test(one)).length,
      calls: new Set([...body.matchAll(/\bloci\.(\w+)\s*\(/g)].map(([, name = '']) => name)),
      // A name that is no call: a table, or a type of its rows, which knows its columns as well.
      tables: new Set(
        [...code.slice(open, heads[at + 1]?.index ?? code.length).matchAll(/\bloci\.(\w+)\b(?!\s*\()/g)].map(
          ([, name = '']) => name,
        ),
      ),
    }
  })
}

function closing(code: string, open: number): number {
  let depth = 0
  for (let at = open; at < code.length; at += 1) {
    if (code[at] === '(') depth += 1
    else if (code[at] === ')' && --depth === 0) return at
  }
  return code.length
}

/** Parts between commas that stand in no brackets. */
function listed(text: string): string[] {
  const parts: string[] = ['']
  let depth = 0
  for (const letter of text) {
    if (letter === '(') depth += 1
    else if (letter === ')') depth -= 1
    if (letter === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += letter
  }
  return parts.map((part) => part.trim()).filter((part) => part !== '')
}

export function edgeCount({ edges }: SqlShape): number {
  return [...edges.values()].reduce((sum, to) => sum + to.size, 0)
}

export function checkSqlShape(tree: Tree, maxima = MAXIMA): Problem[] {
  return Object.entries(maxima).flatMap(([program, max]) => {
    const shape = sqlShape(tree, program)
    const now: Maxima = {
      ...{ functions: shape.functions.length, lines: shape.lines, edges: edgeCount(shape) },
      ...{ circle: shape.circle.length, wide: shape.wide.length },
    }
    const words: Record<keyof Maxima, string> = {
      functions: 'SQL functions',
      lines: 'lines of SQL functions',
      edges: 'edges between rooms in SQL; --rooms shows them',
      circle: `rooms in a circle of SQL (${shape.circle.join(', ')})`,
      wide: `SQL functions with more than ${PARAMETERS_MAX} parameters; --rooms names them`,
    }
    return (Object.keys(words) as (keyof Maxima)[])
      .filter((name) => now[name] > max[name])
      .map((name) => ({
        path: `${program}/app.ts`,
        line: 1,
        text: `${now[name]} ${words[name]}, at most ${max[name]}`,
      }))
  })
}
