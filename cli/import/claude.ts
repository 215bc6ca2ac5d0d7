// The export of Claude: conversations.json, memories.json and projects.json, each a list. Projects may also be files of
// their own.

import { type Draft, type Found, type Item, isObject, type Kind, listIn, momentIn, objectIn, textIn } from './kind.ts'
import { digestOf, sourceIdOf } from './source-id.ts'

export const CLAUDE: Kind = {
  name: 'claude',
  title: 'conversations.json, memories.json or projects.json of an export of Claude',
  usersFrom: ['account'],
  telling: ['uuid', 'chat_messages', 'conversations_memory', 'prompt_template', 'account', 'docs'],
  lists: ['conversations', 'projects', 'memories'],
  start,
}

/** A document that is one thing, such as a file of a project, comes member by member. */
function start() {
  const members: Record<string, unknown> = {}
  return {
    read({ path, value }: Item): readonly Found[] | undefined {
      const [name] = path
      if (name === undefined || CLAUDE.lists.includes(name)) return readThing(value)
      const own = members[name]
      // An element of a list that is a member; any other member comes once.
      members[name] = name === 'docs' || name === 'chat_messages' ? [...listIn(own), value] : value
      return ['uuid', 'chat_messages', 'conversations_memory', 'prompt_template'].includes(name) ? [] : undefined
    },
    end: () => readThing(members) ?? [],
  }
}

function readThing(value: unknown): readonly Found[] | undefined {
  if (!isObject(value)) return undefined
  if (Array.isArray(value.chat_messages)) return conversationOf(value)
  if ('conversations_memory' in value || 'project_memories' in value) return memoriesOf(value)
  if ('prompt_template' in value || ('docs' in value && 'uuid' in value)) return projectOf(value)
  if ('email_address' in value) return [{ what: 'account', why: 'it says who, and nothing to remember' }]
  return undefined
}

function conversationOf(conversation: Record<string, unknown>): readonly Found[] {
  const id = textIn(conversation.uuid)
  if (id === undefined) return [{ what: 'conversation', why: 'it has no uuid' }]
  const account = textIn(objectIn(conversation.account).uuid) ?? textIn(conversation.account_uuid)
  const title = textIn(conversation.name)
  const messages = listIn(conversation.chat_messages)
  if (messages.length === 0) return [{ what: 'conversation', why: 'nothing was said in it' }]
  return messages.map((one): Found => {
    const message = objectIn(one)
    const content = saidIn(message)
    const files = [...listIn(message.attachments), ...listIn(message.files)].length
    if (content === undefined)
      return { what: 'message', why: files > 0 ? 'only attachments' : 'it has no words: thoughts and tools' }
    const messageId = textIn(message.uuid) ?? digestOf(content)
    const occurredAt = momentIn(message.created_at)
    const actor = textIn(message.sender)
    return {
      record: {
        content,
        kind: 'message',
        sourceEventId: sourceIdOf('claude', id, messageId),
        contextId: id,
        ...(actor === undefined ? {} : { actor }),
        ...(occurredAt === undefined ? {} : { occurredAt }),
        metadata: { claude: { conversation: id, message: messageId, ...(title ? { title } : {}) } },
      },
      scope: { account, conversation: id },
      noPlace: unsaidIn(message, files),
    }
  })
}

/** By blocks where there are some: `text` beside them has a placeholder for each block that a page cannot show. */
function saidIn(message: Record<string, unknown>): string | undefined {
  const blocks = listIn(message.content).map(objectIn)
  const said = blocks.flatMap((block) => (block.type === 'text' ? (textIn(block.text) ?? []) : []))
  if (said.length > 0) return said.join('\n')
  return blocks.some(({ type }) => typeof type === 'string') ? undefined : textIn(message.text)
}

function unsaidIn(message: Record<string, unknown>, files: number): string[] {
  const types = new Set(listIn(message.content).map((block) => objectIn(block).type))
  return [
    ...(types.has('thinking') ? ['thoughts'] : []),
    ...(types.has('tool_use') || types.has('tool_result') ? ['calls and answers of tools'] : []),
    ...(files > 0 ? ['attachments'] : []),
  ]
}

/** What Claude keeps of an account: a newer export takes the place of an older one, by the key. */
function memoriesOf(kept: Record<string, unknown>): readonly Found[] {
  const account = textIn(kept.account_uuid) ?? textIn(objectIn(kept.account).uuid)
  const of = (key: string, text: string): Draft => ({
    record: {
      content: text,
      kind: 'memory',
      key,
      sourceEventId: sourceIdOf('claude', ...(account === undefined ? [] : [account]), key, digestOf(text)),
      metadata: { claude: { field: key } },
    },
    scope: { account },
    noPlace: [],
  })
  const whole = textIn(kept.conversations_memory)
  const projects = Object.entries(objectIn(kept.project_memories))
  const found: Found[] = [
    ...(whole === undefined ? [] : [of('claude/memory', whole)]),
    ...projects.flatMap(([id, text]) =>
      textIn(text) === undefined ? [] : [of(`claude/project/${id}/memory`, text as string)],
    ),
  ]
  return found.length > 0 ? found : [{ what: 'memory of an account', why: 'it is empty' }]
}

function projectOf(project: Record<string, unknown>): readonly Found[] {
  if (project.is_starter_project === true) return [{ what: 'project', why: 'it is the sample that everybody has' }]
  const id = textIn(project.uuid)
  const text = [project.description, project.prompt_template].flatMap((one) => textIn(one) ?? []).join('\n\n')
  const docs = listIn(project.docs).length > 0 ? ['documents of a project'] : []
  if (id === undefined || text === '')
    return [{ what: 'project', why: docs.length > 0 ? 'only documents' : 'it has no description and no instructions' }]
  const name = textIn(project.name)
  const occurredAt = momentIn(project.updated_at) ?? momentIn(project.created_at)
  return [
    {
      record: {
        content: name === undefined ? text : `${name}\n\n${text}`,
        kind: 'project',
        key: `claude/project/${id}`,
        sourceEventId: sourceIdOf('claude', 'project', id, digestOf(text)),
        ...(occurredAt === undefined ? {} : { occurredAt }),
        metadata: { claude: { project: id, ...(name ? { name } : {}) } },
      },
      scope: { account: textIn(objectIn(project.creator).uuid) ?? textIn(objectIn(project.account).uuid) },
      noPlace: docs,
    },
  ]
}
