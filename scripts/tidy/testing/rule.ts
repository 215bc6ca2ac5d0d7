// One rule of tidy against small trees: for every rule one that breaks it and one that keeps it. A rule that cannot
// fail here guards nothing.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '../layers.ts'
import { readSources, type Source, type Tree } from '../source.ts'

/** `expected` is undefined for a tree that keeps the rule. */
export type Example = [name: string, files: Record<string, string>, expected: RegExp | undefined]

export function rule(
  name: string,
  examples: Example[],
  check: (tree: Tree, sources: Map<string, Source>) => Problem[],
): void {
  for (const [example, files, expected] of examples) {
    test(`${name}: ${example} is ${expected ? 'reported' : 'let through'}`, () => {
      const tree = new Map(Object.entries(files))
      const said = check(tree, readSources(tree)).map(({ path, line, text }) => `${path}:${line}: ${text}`)
      if (!expected) assert.deepEqual(said, [])
      else
        assert.ok(
          said.some((text) => expected.test(text)),
          `expected ${expected} among ${JSON.stringify(said)}`,
        )
    })
  }
}
