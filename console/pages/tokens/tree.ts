// The tokens of a tenant as a tree: each with the links that its holders made from it and registered.

import type { Token, TokenChild } from '../../api/credentials.ts'

export interface Node {
  id: string
  depth: number
  token?: Token
  child?: TokenChild
  /** The token at the root. */
  root: Token
  hasEnded: boolean
}

export function treeOf(tokens: readonly Token[], { now, withEnded }: { now: number; withEnded: boolean }): Node[] {
  return tokens.flatMap((root) => {
    const hasEnded = isOver(root, now)
    if (hasEnded && !withEnded) return []
    const own: Node = { id: root.token_id, depth: 0, token: root, root, hasEnded }
    const below = childrenOf(root, root.token_id, 1).map((node) => ({
      ...node,
      hasEnded: hasEnded || isOver(node.child as TokenChild, now),
    }))
    return [own, ...below.filter((node) => withEnded || !node.hasEnded)]
  })
}

function childrenOf(root: Token, parentId: string, depth: number): Node[] {
  return root.children
    .filter(({ parent_id }) => parent_id === parentId)
    .flatMap((child) => [
      { id: child.jti, depth, child, root, hasEnded: false },
      ...childrenOf(root, child.jti, depth + 1),
    ])
}

/** What ends with it, itself left out: everything below a token, and below a child what is registered under it. */
export function endsWithIt(node: Node, now: number): { alive: TokenChild[]; ended: TokenChild[] } {
  const below = childrenOf(node.root, node.id, 1).map(({ child }) => child as TokenChild)
  return {
    alive: below.filter((child) => !isOver(child, now)),
    ended: below.filter((child) => isOver(child, now)),
  }
}

/** With five minutes more of doubt than it has. */
const CONSOLE_LIFE_MS = 600_000

/**
 * With which the console itself asks daemons, for minutes and for a person who is signed in or for the events of a
 * service. There are many of them, and none was made by anybody.
 */
export function isOfConsole({ name, sub, issued_at, expires_at }: OfConsole): boolean {
  const lifeMs = Date.parse(expires_at) - Date.parse(issued_at)
  return name === 'console' && (sub === 'console' || lifeMs <= CONSOLE_LIFE_MS)
}

type OfConsole = Pick<Token, 'name' | 'sub' | 'issued_at' | 'expires_at'>

export function isOver(
  { expires_at, revoked_at }: Pick<TokenChild, 'expires_at' | 'revoked_at'>,
  now: number,
): boolean {
  return revoked_at !== null || Date.parse(expires_at) <= now
}
