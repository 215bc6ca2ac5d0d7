// How deep a value is nested, without a call per level: a source may hold what no stack has room for.

import { isObject } from './kind.ts'

/** Deeper than any form that is known here; JSON.stringify itself ends with a full stack at some thousand. */
export const ITEM_DEPTH_MAX = 64
/** A daemon reads a body of 32 levels, of which a batch of records takes three. */
export const METADATA_DEPTH_MAX = 28

export function isDeeperThan(value: unknown, max: number): boolean {
  let level = [value].filter(isNest)
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth === max) return true
    level = level.flatMap((nest) => Object.values(nest).filter(isNest))
  }
  return false
}

function isNest(value: unknown): value is object {
  return Array.isArray(value) || isObject(value)
}
