// Names that other memories give to what loci has under another name, or in another place. Who ports an agent sends
// them; ignored in silence they would mix all people of a service.

import { HEADER } from './headers.ts'

const PEOPLE = `loci keeps people apart by database: send \`${HEADER.database}: <name>\``
const CONVERSATION = `${PEOPLE}; a conversation is a contextId`

const KEPT_APART = `user_id userId user agent_id agentId namespace app_id org_id tenant_id project filters filter where
  scope`
const CONVERSATIONS = 'session_id thread_id run_id'

/** By the name that was sent: what to do instead. */
const INSTEAD = new Map<string, string>([
  ...KEPT_APART.split(/\s+/).map((name) => [name, PEOPLE] as const),
  ...CONVERSATIONS.split(' ').map((name) => [name, CONVERSATION] as const),
])

/** By the name that was sent: the name of loci, which helps only where that one is known. */
const RENAMED = new Map<string, string>([
  ...['top_k', 'k', 'n', 'max_results'].map((name) => [name, 'limit'] as const),
  ...['text', 'message', 'messages', 'data'].map((name) => [name, 'content'] as const),
  ['search', 'query'],
])

/** What whoever sent a name that is unknown here should do: take another name, or something else. */
export function mendOf(name: string, known: readonly string[]): { name: string } | { instead: string } | undefined {
  const renamed = RENAMED.get(name)
  if (renamed !== undefined && known.includes(renamed)) return { name: renamed }
  const instead = INSTEAD.get(name)
  return instead === undefined ? undefined : { instead }
}
