// The export of ChatGPT: conversations.json, where each conversation is a tree of messages. What was read last is the
// path from `current_node` to the root; answers that were made again and questions that were edited stand beside it.

import { type Draft, type Found, type Item, isObject, type Kind, listIn, momentIn, objectIn, textIn } from './kind.ts'
import { digestOf, sourceIdOf } from './source-id.ts'

export const CHATGPT: Kind = {
  name: 'chatgpt',
  title: 'conversations.json of an export of ChatGPT',
  usersFrom: [],
  telling: ['mapping', 'current_node', 'create_time'],
  lists: ['conversations'],
  start: () => ({ read }),
}

interface Conversation {
  id: string
  title: string | undefined
  mapping: Record<string, unknown>
}

/** Content that is no word of a person or of the assistant to them. */
const UNSAID: Readonly<Record<string, string>> = {
  code: 'call of a tool',
  execution_output: 'answer of a tool',
  tether_browsing_display: 'answer of a tool',
  tether_quote: 'quotation of a page',
  thoughts: 'thoughts of the model',
  reasoning_recap: 'thoughts of the model',
  model_editable_context: 'context of the model',
  system_error: 'error',
}

function read({ path, value }: Item): readonly Found[] | undefined {
  if (path.length > 0 && path[0] !== 'conversations') return []
  if (!isObject(value) || !isObject(value.mapping)) return undefined
  const id = textIn(value.conversation_id) ?? textIn(value.id)
  if (id === undefined) return [{ what: 'conversation', why: 'it has no id' }]
  const conversation = { id, title: textIn(value.title), mapping: value.mapping }
  const nodes = pathOf(conversation, textIn(value.current_node))
  const seen = new Set(nodes)
  const aside = Object.entries(conversation.mapping).filter(
    ([name, node]) => !seen.has(name) && saidIn(objectIn(objectIn(node).message)) !== undefined,
  )
  const found: Found[] = [
    ...nodes.flatMap((name) => foundIn(conversation, objectIn(objectIn(conversation.mapping[name]).message))),
    ...aside.map(() => ({ what: 'message', why: 'it was edited or made again: another branch is the current one' })),
  ]
  return found.length > 0 ? found : [{ what: 'conversation', why: 'nothing was said in it' }]
}

/** From the root to the current node. Without one: to the leaf that was written last. */
function pathOf({ mapping }: Conversation, current: string | undefined): string[] {
  const path: string[] = []
  const seen = new Set<string>()
  let name = current === undefined ? undefined : placeOf(mapping, current)
  name ??= lastLeaf(mapping)
  while (name !== undefined && isObject(mapping[name]) && !seen.has(name)) {
    seen.add(name)
    path.push(name)
    const parent = textIn(objectIn(mapping[name]).parent)
    name = parent === undefined ? undefined : placeOf(mapping, parent)
  }
  return path.reverse()
}

/** The node, or where one that was deleted hung: it is still named among the children there. */
function placeOf(mapping: Record<string, unknown>, name: string): string | undefined {
  if (isObject(mapping[name])) return name
  return Object.keys(mapping).find((other) => listIn(objectIn(mapping[other]).children).includes(name))
}

function lastLeaf(mapping: Record<string, unknown>): string | undefined {
  const writtenAt = (node: unknown) => Date.parse(momentIn(objectIn(objectIn(node).message).create_time) ?? '') || 0
  const isLeaf = (node: unknown) => !listIn(objectIn(node).children).some((child) => isObject(mapping[String(child)]))
  const leaves = Object.entries(mapping).filter(([, node]) => isLeaf(node))
  return leaves.sort(([, a], [, b]) => writtenAt(b) - writtenAt(a))[0]?.[0]
}

function foundIn(conversation: Conversation, message: Record<string, unknown>): readonly Found[] {
  const role = textIn(objectIn(message.author).role)
  const content = objectIn(message.content)
  const type = textIn(content.content_type) ?? 'text'
  if (role === undefined) return []
  // What a person wrote about themselves in the settings stands in every conversation; it is one record.
  if (type === 'user_editable_context') return instructionsOf(content)
  const saved = message.recipient === 'bio' ? textOf(content) : undefined
  if (saved !== undefined) return [draftOf(conversation, message, { content: saved, kind: 'memory' })]
  const said = saidIn(message)
  if (said !== undefined) return [draftOf(conversation, message, { content: said, kind: 'message', actor: role })]
  if (role === 'tool') return [{ what: 'message', why: 'answer of a tool' }]
  if (UNSAID[type] !== undefined) return [{ what: 'message', why: UNSAID[type] }]
  if (role === 'assistant' && isToTool(message)) return [{ what: 'message', why: 'call of a tool' }]
  if (textOf(content) !== undefined) return [{ what: 'message', why: role === 'system' ? 'of the system' : 'hidden' }]
  if (hasPictures(content)) return [{ what: 'message', why: 'pictures or recordings without words' }]
  // The root of a tree and the beginning of a turn are empty.
  return []
}

/** What one of the two said to the other, as it was shown. */
function saidIn(message: Record<string, unknown>): string | undefined {
  const role = objectIn(message.author).role
  if (role !== 'user' && role !== 'assistant') return undefined
  const content = objectIn(message.content)
  const type = textIn(content.content_type) ?? 'text'
  const isHidden = objectIn(message.metadata).is_visually_hidden_from_conversation === true || message.weight === 0
  if (isHidden || (role === 'assistant' && isToTool(message))) return undefined
  return type === 'text' || type === 'multimodal_text' ? textOf(content) : undefined
}

function isToTool({ recipient }: Record<string, unknown>): boolean {
  return typeof recipient === 'string' && recipient !== 'all'
}

/** A recording has its words as a part. */
function textOf(content: Record<string, unknown>): string | undefined {
  const parts = listIn(content.parts).flatMap((part) => textIn(part) ?? textIn(objectIn(part).text) ?? [])
  return parts.length > 0 ? parts.join('\n') : textIn(content.text)
}

function hasPictures(content: Record<string, unknown>): boolean {
  return listIn(content.parts).some((part) => isObject(part) && textIn(part.text) === undefined)
}

function draftOf(
  { id, title }: Conversation,
  message: Record<string, unknown>,
  record: { content: string; kind: string; actor?: string },
): Draft {
  const messageId = textIn(message.id) ?? digestOf(record.content)
  const occurredAt = momentIn(message.create_time)
  const model = textIn(objectIn(message.metadata).model_slug)
  return {
    record: {
      ...record,
      sourceEventId: sourceIdOf('chatgpt', id, messageId),
      contextId: id,
      ...(occurredAt === undefined ? {} : { occurredAt }),
      metadata: {
        chatgpt: { conversation: id, message: messageId, ...(title ? { title } : {}), ...(model ? { model } : {}) },
      },
    },
    scope: { conversation: id },
    noPlace: hasPictures(objectIn(message.content)) ? ['pictures and recordings'] : [],
  }
}

const INSTRUCTIONS = ['user_profile', 'user_instructions'] as const

function instructionsOf(content: Record<string, unknown>): Draft[] {
  return INSTRUCTIONS.flatMap((name) => {
    const text = textIn(content[name])
    if (text === undefined) return []
    const sourceEventId = sourceIdOf('chatgpt', name, digestOf(text))
    const record = {
      content: text,
      kind: 'instructions',
      actor: 'user',
      sourceEventId,
      metadata: { chatgpt: { field: name } },
    }
    return [{ record, scope: {}, noPlace: [] }]
  })
}
