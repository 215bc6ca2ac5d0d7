// Which route answers a method and a path. A template's parameters are whole segments, so a tree of segments is all it takes; a
// literal segment wins over a parameter, but only where it has the method: `POST /entries/batch` must not hide the entry that
// is called batch from `PUT /entries/{key}`. Paths are taken as they are: no folding of case, slashes or percent-encoding.

import type { Route } from './route.ts'

export interface Match {
  route: Route
  params: Record<string, string>
}

/** Why there is no route: no such path (no template), not this method, or a parameter that is not percent-encoded UTF-8. */
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
  routes: Map<string, Route>
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
const NO_PARAMS = Object.freeze({})

export function createRouter(routes: Route[]): Router {
  const root = newNode()
  // Most requests go to paths without parameters: one look instead of a walk.
  const exact = new Map<string, Match>()
  for (const route of routes) {
    const { path } = route.spec
    const node = path.split('/').slice(1).reduce(descend, root)
    for (const served of methodsOf(route)) {
      if (node.routes.has(served)) throw new Error(`${served} ${path} is registered twice`)
      node.routes.set(served, route)
      if (!path.includes('{')) exact.set(`${served} ${path}`, { route, params: NO_PARAMS })
    }
  }
  return {
    find(method, path) {
      const known = exact.get(`${method} ${path}`)
      if (known) return known
      const segments = path.split('/').slice(1)
      const nodes = candidates(root, segments, 0)
      const route = nodes.find((node) => node.routes.has(method))?.routes.get(method)
      if (!route) {
        const [first] = nodes[0]?.routes.values() ?? []
        return {
          template: first?.spec.path,
          allow: METHODS.filter((one) => nodes.some((node) => node.routes.has(one))),
          isMalformed: false,
        }
      }
      const params = paramsOf(route, segments)
      return params ? { route, params } : { template: route.spec.path, allow: [], isMalformed: true }
    },
  }
}

/** HEAD is GET without its body. A stream is all body: HEAD of one would hold it open for nobody. */
function methodsOf({ spec: { method, deadline } }: Route): string[] {
  return method === 'GET' && deadline !== 'stream' ? ['GET', 'HEAD'] : [method]
}

function newNode(): Node {
  return { literals: new Map(), parameter: undefined, routes: new Map() }
}

function descend(node: Node, segment: string): Node {
  if (segment.startsWith('{')) {
    node.parameter ??= newNode()
    return node.parameter
  }
  const next = node.literals.get(segment) ?? newNode()
  node.literals.set(segment, next)
  return next
}

/** Every node that the path reaches, the more literal first. A parameter is never empty. */
function candidates(node: Node, segments: string[], at: number): Node[] {
  if (at === segments.length) return node.routes.size > 0 ? [node] : []
  const segment = segments[at] as string
  const literal = node.literals.get(segment)
  return [
    ...(literal ? candidates(literal, segments, at + 1) : []),
    ...(node.parameter && segment !== '' ? candidates(node.parameter, segments, at + 1) : []),
  ]
}

function paramsOf({ spec }: Route, segments: string[]): Record<string, string> | undefined {
  const params: Record<string, string> = {}
  try {
    for (const [at, part] of spec.path.split('/').slice(1).entries()) {
      if (part.startsWith('{')) params[part.slice(1, -1)] = decodeURIComponent(segments[at] as string)
    }
  } catch {
    return undefined
  }
  return params
}
