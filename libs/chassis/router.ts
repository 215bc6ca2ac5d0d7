// Which route answers a method and a path. A template's parameters are whole segments, so a tree of segments is all it
// takes; a literal segment wins over a parameter and that over a tail, but only where it has the method: `POST
// /entries/batch` must not hide the entry that is called batch from `PUT /entries/{key}`. Case and slashes are never
// folded. A percent-encoded character is that character, so `tools%3Arank` is `tools:rank`; an encoded slash stays
// inside its segment. The first segment is taken as it stands: a proxy in front of a program that refuses `/admin` or
// `/metrics` must not be passed by `/%61dmin`.

import type { Route } from './route.ts'

export interface Match {
  route: Route
  params: Record<string, string>
}

/** Why there is no route: unknown path (no template), wrong method, or an invalid percent-encoded parameter. */
export interface Mismatch {
  template: string | undefined
  allow: string[]
  isMalformed: boolean
}

export interface Router {
  find(method: string, path: string): Match | Mismatch
}

interface Node {
  literals: Map<string, Node>
  parameter: Node | undefined
  /** Of a template that ends in `{name...}`: takes everything that is left. */
  tail: Node | undefined
  routes: Map<string, Served>
}

/** A route and which segments of its path are parameters: worked out once and not with every request. */
interface Served {
  route: Route
  names: string[]
  segments: number[]
  hasTail: boolean
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const NO_PARAMS = Object.freeze({})
const SEGMENTS_MAX = 32

export function createRouter(routes: Route[]): Router {
  const root = newNode()
  // Many requests go to paths without parameters: two looks instead of a walk.
  const exact = new Map<string, Map<string, Match>>()
  for (const route of routes) {
    const { path } = route.spec
    const segments = path.split('/').slice(1)
    if (segments.length > SEGMENTS_MAX) throw new Error(`${path} has more than ${SEGMENTS_MAX} segments`)
    if (segments.slice(0, -1).some(isTail)) throw new Error(`${path} has a tail before its end`)
    const node = segments.reduce(descend, root)
    const served = servedBy(route, segments)
    for (const method of methodsOf(route)) {
      if (node.routes.has(method)) throw new Error(`${method} ${path} is registered twice`)
      node.routes.set(method, served)
      if (!path.includes('{'))
        exact.set(method, (exact.get(method) ?? new Map()).set(path, { route, params: NO_PARAMS }))
    }
  }
  return {
    find(method, path) {
      const known = exact.get(method)?.get(path)
      if (known) return known
      const served = path.startsWith('/') ? seek(root, method, path, 1, 0) : undefined
      if (!served) return mismatchOf(root, path)
      const { route, names } = served
      if (names.length === 0) return { route, params: NO_PARAMS }
      const params = paramsOf(served, path)
      return params ? { route, params } : { template: route.spec.path, allow: [], isMalformed: true }
    },
  }
}

function servedBy(route: Route, parts: string[]): Served {
  const segments = [...parts.keys()].filter((at) => parts[at]?.startsWith('{'))
  const hasTail = isTail(parts.at(-1) as string)
  const names = segments.map((at) => (parts[at] as string).replace(/^\{|(?:\.\.\.)?\}$/g, ''))
  return { route, names, segments, hasTail }
}

/** HEAD is GET without its body. A stream is all body: HEAD of one would hold it open for nobody. */
function methodsOf({ spec: { method, deadline } }: Route): string[] {
  return method === 'GET' && deadline !== 'stream' ? ['GET', 'HEAD'] : [method]
}

function isTail(segment: string): boolean {
  return segment.startsWith('{') && segment.endsWith('...}')
}

function newNode(): Node {
  return { literals: new Map(), parameter: undefined, tail: undefined, routes: new Map() }
}

function descend(node: Node, segment: string): Node {
  if (isTail(segment)) {
    node.tail ??= newNode()
    return node.tail
  }
  if (segment.startsWith('{')) {
    node.parameter ??= newNode()
    return node.parameter
  }
  const next = node.literals.get(segment) ?? newNode()
  node.literals.set(segment, next)
  return next
}

// Where each segment of the path that was sought last begins: one array for all, because a search is never interrupted.
const begins = new Int32Array(SEGMENTS_MAX)

/** The more literal first. A parameter is never empty. The tree is no deeper than SEGMENTS_MAX, so neither is this. */
function seek(node: Node, method: string, path: string, from: number, depth: number): Served | undefined {
  const slash = path.indexOf('/', from)
  const to = slash < 0 ? path.length : slash
  begins[depth] = from
  const literal = literalOf(node, path.slice(from, to), depth)
  const found = literal && (slash < 0 ? literal.routes.get(method) : seek(literal, method, path, slash + 1, depth + 1))
  if (found || to === from) return found
  const named =
    node.parameter &&
    (slash < 0 ? node.parameter.routes.get(method) : seek(node.parameter, method, path, slash + 1, depth + 1))
  if (named || !node.tail) return named
  return node.tail.routes.get(method)
}

function literalOf({ literals }: Node, segment: string, depth: number): Node | undefined {
  if (depth === 0 || !segment.includes('%')) return literals.get(segment)
  const text = decoded(segment)
  return text === undefined ? undefined : literals.get(text)
}

/** Undefined if it is not percent-encoded UTF-8. */
function decoded(segment: string): string | undefined {
  try {
    return segment.includes('%') ? decodeURIComponent(segment) : segment
  } catch {
    return undefined
  }
}

/** Parameters of the last path. Undefined if one is not percent-encoded UTF-8, or a tail has `..` or `%2f`. */
function paramsOf({ names, segments, hasTail }: Served, path: string): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  for (let at = 0; at < names.length; at += 1) {
    const from = begins[segments[at] as number] as number
    if (hasTail && at === names.length - 1) {
      const rest = tailOf(path.slice(from))
      if (rest === undefined) return undefined
      params[names[at] as string] = rest
      break
    }
    const slash = path.indexOf('/', from)
    const text = slash < 0 ? path.slice(from) : path.slice(from, slash)
    const value = decoded(text)
    if (value === undefined) return undefined
    params[names[at] as string] = value
  }
  return params
}

/** Decoded segment by segment, so that nothing that was no slash in the path is one in the parameter. */
function tailOf(text: string): string | undefined {
  const segments = text.split('/').map(decoded)
  const named = segments.at(-1) === '' ? segments.slice(0, -1) : segments
  const isPlain = named.every((segment) => segment !== undefined && !/^\.{0,2}$|[/\\\0]/.test(segment))
  return isPlain ? segments.join('/') : undefined
}

function mismatchOf(root: Node, path: string): Mismatch {
  const nodes = path.startsWith('/') ? candidates(root, path.split('/').slice(1), 0) : []
  const [first] = nodes[0]?.routes.values() ?? []
  const allow = METHODS.filter((method) => nodes.some(({ routes }) => routes.has(method)))
  return { template: first?.route.spec.path, allow, isMalformed: false }
}

/** Every node that the path reaches, the more literal first. */
function candidates(node: Node, segments: string[], at: number): Node[] {
  if (at === segments.length) return node.routes.size > 0 ? [node] : []
  const segment = segments[at] as string
  const literal = literalOf(node, segment, at)
  return [
    ...(literal ? candidates(literal, segments, at + 1) : []),
    ...(node.parameter && segment !== '' ? candidates(node.parameter, segments, at + 1) : []),
    ...(node.tail && segment !== '' ? candidates(node.tail, segments, segments.length) : []),
  ]
}
