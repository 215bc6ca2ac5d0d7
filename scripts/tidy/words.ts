// Words that had a meaning of our own in this repository and have an ordinary name now. Only words that are gone.

import type { Problem } from './layers.ts'
import { lineAt, type Source } from './source.ts'

const RETIRED: ReadonlyMap<string, string> = new Map([
  ['Bell', 'a wakeup'],
  ['Desk', 'Model'],
  ['Life', 'ServiceState, or lifecycle for a process'],
  ['Market', 'ServiceRules'],
  ['Standing', 'TenantCoverage, or the state of a tenant'],
  ['Turn', 'Transition, or RequestContext'],
  ['ensureOrganization', 'makeOrganization()'],
  ['isStill', 'isStillValid()'],
  ['keepHouse', 'upkeep'],
  ['kick', 'wake'],
  ['lockHome', 'lockServiceAndCell()'],
  ['lookAgain', 'recheck'],
  ['lookAt', 'reconcileService()'],
  ['lookAtRate', 'readRate()'],
  ['noteSpeaker', 'noteReplica()'],
  ['nextLookOf', 'nextCheckOf()'],
  ['readOwn', 'readForCaller()'],
  ['shadowed', 'unordered'],
  ['tellEvents', 'afterCommit() of the writer'],
  ['tellOf', 'appendEventOf()'],
])

/** Names in code. In sentences the words may stand for what they mean in English. */
export function checkWords(sources: ReadonlyMap<string, Source>): Problem[] {
  const problems: Problem[] = []
  const pattern = new RegExp(`(?<![\\w$])(${[...RETIRED.keys()].join('|')})(?![\\w$])`, 'g')
  for (const { path, code } of sources.values()) {
    for (const match of code.matchAll(pattern)) {
      const text = `'${match[0]}' is a retired word; write ${RETIRED.get(match[0])}`
      problems.push({ path, line: lineAt(code, match.index), text })
    }
  }
  return problems
}
