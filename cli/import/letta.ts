// Letta: agents with their blocks, passages and messages, from its API. A file (.af) has blocks and messages only; its
// ids count from 0 in each file, so they say nothing outside of it.

import {
  type Ask,
  type Found,
  type Item,
  idIn,
  isObject,
  type Kind,
  listIn,
  lostOf,
  momentIn,
  objectIn,
  tagsOf,
  textIn,
  textsIn,
} from './kind.ts'
import { digestOf, sourceIdOf } from './source-id.ts'

const PAGE = 100

export const LETTA: Kind = {
  name: 'letta',
  title: 'the address of a Letta server, or an agent file (.af)',
  usersFrom: ['agent_id', 'agent_name'],
  telling: ['agents', 'blocks', 'message_buffer_autoclear', 'in_context_message_ids', 'block_ids', 'agent_type'],
  lists: ['agents', 'blocks', 'messages', 'passages'],
  start,
  pages,
}

interface Owner {
  id: string | undefined
  name: string | undefined
}

function start() {
  /** Of a file: blocks stand beside the agents that have them. */
  const owners: { owner: Owner; blocks: ReadonlySet<string> }[] = []
  const blocks: Record<string, unknown>[] = []
  return {
    read({ path, value }: Item): readonly Found[] | undefined {
      const [list] = path
      if (!isObject(value)) return list === undefined ? undefined : []
      if (list === 'api') return ofApi(value)
      if (list === 'agents') {
        const owner = { id: undefined, name: textIn(value.name) ?? idIn(value.id) }
        owners.push({ owner, blocks: new Set(textsIn(value.block_ids)) })
        const own = [...listIn(value.memory_blocks), ...listIn(value.core_memory)].map(objectIn)
        return [
          { what: 'agent', why: 'instructions, models, tools and secrets of an agent are not memories' },
          ...own.map((block) => blockOf(owner, block)),
          ...listIn(value.messages).map((message) => messageOf(owner, objectIn(message))),
        ]
      }
      if (list === 'blocks') {
        blocks.push(value)
        return []
      }
      if (list === undefined) return undefined
      const isThing = ['files', 'sources', 'tools', 'mcp_servers', 'groups', 'skills'].includes(list)
      return isThing ? [{ what: list, why: 'it is no memory' }] : []
    },
    end: () =>
      blocks.flatMap((block): Found[] => {
        const own = owners.filter((one) => one.blocks.has(idIn(block.id) ?? ''))
        if (own.length === 0) return [{ what: 'block', why: 'no agent of the file has it' }]
        return own.map(({ owner }) => blockOf(owner, block))
      }),
  }
}

/** What `pages()` makes: whose it is, and the thing. */
function ofApi({ agent, block, passage, message }: Record<string, unknown>): readonly Found[] {
  const owner = { id: idIn(objectIn(agent).id), name: textIn(objectIn(agent).name) }
  if (isObject(block)) return [blockOf(owner, block)]
  if (isObject(passage)) return [passageOf(owner, passage)]
  if (isObject(message)) return [messageOf(owner, message)]
  return [{ what: 'agent', why: 'instructions, models, tools and secrets of an agent are not memories' }]
}

const scopeOf = ({ id, name }: Owner) => ({ agent_id: id, agent_name: name })
/** Two agents may have the same name, but not two of one server the same id. */
const nameOf = ({ id, name }: Owner) => id ?? name ?? 'agent'

/** A block is one current fact: what it says now takes the place of what it said. */
function blockOf(owner: Owner, block: Record<string, unknown>): Found {
  const content = textIn(block.value)
  if (content === undefined) return { what: 'block', why: 'it is empty' }
  const label = textIn(block.label) ?? 'block'
  const description = textIn(block.description)
  const own = { label, ...(owner.id === undefined ? {} : { block: block.id }), ...(description ? { description } : {}) }
  return {
    record: {
      content,
      kind: 'block',
      key: `block/${label}`.slice(0, 80),
      sourceEventId: sourceIdOf('letta', nameOf(owner), 'block', label, digestOf(content).slice(0, 32)),
      ...tagsOf([...textsIn(block.tags), `block:${label}`]),
      metadata: { ...objectIn(block.metadata), letta: { agent: nameOf(owner), ...own } },
    },
    scope: scopeOf(owner),
    noPlace: lostOf(block, ['limit', 'read_only']),
  }
}

function passageOf(owner: Owner, passage: Record<string, unknown>): Found {
  const content = textIn(passage.text)
  const id = idIn(passage.id)
  if (content === undefined || id === undefined) return { what: 'passage', why: 'it has no text or no id' }
  if (passage.is_deleted === true) return { what: 'passage', why: 'it was deleted' }
  const occurredAt = momentIn(passage.created_at)
  const file = textIn(passage.file_name)
  return {
    record: {
      content,
      kind: 'passage',
      sourceEventId: sourceIdOf('letta', nameOf(owner), id),
      ...(occurredAt === undefined ? {} : { occurredAt }),
      ...tagsOf(textsIn(passage.tags)),
      metadata: {
        ...objectIn(passage.metadata),
        letta: { agent: nameOf(owner), passage: id, ...(file ? { file } : {}) },
      },
    },
    scope: scopeOf(owner),
    noPlace: lostOf(passage, ['embedding', 'embedding_config']),
  }
}

const SAID: Readonly<Record<string, string>> = { user_message: 'user', assistant_message: 'assistant' }

/** Of the API by `message_type`, of a file by `role`. */
function messageOf(owner: Owner, message: Record<string, unknown>): Found {
  const type = textIn(message.message_type)
  const actor = type === undefined ? textIn(message.role) : SAID[type]
  if (actor !== 'user' && actor !== 'assistant')
    return { what: 'message', why: (type ?? `of ${actor ?? 'nobody'}`).replaceAll('_', ' ') }
  const content = saidIn(message)
  if (typeof content !== 'string') return { what: 'message', why: content.why }
  const occurredAt = momentIn(message.date) ?? momentIn(message.created_at)
  const id = idIn(message.id)
  // In a file the id is a number in the file.
  const own = owner.id === undefined ? [digestOf(`${occurredAt} ${content}`).slice(0, 32)] : []
  return {
    record: {
      content,
      kind: 'message',
      actor,
      sourceEventId: sourceIdOf('letta', nameOf(owner), ...(owner.id === undefined ? own : [id ?? digestOf(content)])),
      contextId: sourceIdOf('letta', nameOf(owner)),
      ...(occurredAt === undefined ? {} : { occurredAt }),
      metadata: { letta: { agent: nameOf(owner), ...(owner.id === undefined ? {} : { message: id }) } },
    },
    scope: scopeOf(owner),
    noPlace: hasMore(message) ? ['pictures of a message'] : [],
  }
}

/** What Letta itself says as a user is JSON with a type; what an agent said was once the call of a tool. */
function saidIn(message: Record<string, unknown>): string | { why: string } {
  const parts = typeof message.content === 'string' ? [message.content] : listIn(message.content).map(partText)
  const text = parts.flatMap((part) => textIn(part) ?? []).join('\n')
  const sent = listIn(message.tool_calls).flatMap((call) => {
    const { name, arguments: given } = objectIn(objectIn(call).function)
    return name === 'send_message' ? (textIn(parsed(given)?.message) ?? []) : []
  })
  if (sent.length > 0) return sent.join('\n')
  if (text === '') return { why: listIn(message.tool_calls).length > 0 ? 'call of a tool' : 'it has no words' }
  const packed = parsed(text)
  if (packed === undefined || typeof packed.type !== 'string') return text
  if (packed.type !== 'user_message') return { why: `of Letta: ${packed.type}`.replaceAll('_', ' ') }
  return textIn(packed.message) ?? { why: 'it has no words' }
}

function partText(part: unknown): unknown {
  return isObject(part) && (part.type === undefined || part.type === 'text') ? part.text : undefined
}

function hasMore(message: Record<string, unknown>): boolean {
  return listIn(message.content).some((part) => isObject(part) && part.type !== undefined && part.type !== 'text')
}

function parsed(text: unknown): Record<string, unknown> | undefined {
  if (typeof text !== 'string' || !text.trimStart().startsWith('{')) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

async function* pages(url: URL, ask: Ask, key: string | undefined): AsyncGenerator<Item> {
  const base = `${url.pathname.replace(/\/+$/, '')}/v1/agents`
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const list = (path: string) => listed(path, (one) => ask({ path: one, headers }))
  for await (const agent of list(`${base}/?order=asc`)) {
    yield { path: ['api'], value: { agent } }
    const own = `${base}/${encodeURIComponent(String(objectIn(agent).id))}`
    for await (const block of list(`${own}/core-memory/blocks?order=asc`))
      yield { path: ['api'], value: { agent, block } }
    for await (const passage of list(`${own}/archival-memory?ascending=true`))
      yield { path: ['api'], value: { agent, passage } }
    for await (const message of list(`${own}/messages?order=asc`)) yield { path: ['api'], value: { agent, message } }
  }
}

/** After the last id of a page comes the next one. A server that ignores `after` would say the same again and again. */
async function* listed(path: string, ask: (path: string) => Promise<unknown>): AsyncGenerator<unknown> {
  let after: string | undefined
  let before: string | undefined
  for (;;) {
    const query = after === undefined ? '' : `&after=${encodeURIComponent(after)}`
    const page = listIn(await ask(`${path}&limit=${PAGE}${query}`))
    const first = idIn(objectIn(page[0]).id)
    if (page.length === 0 || (first !== undefined && first === before)) return
    yield* page
    before = first
    after = idIn(objectIn(page.at(-1)).id)
    if (page.length < PAGE || after === undefined) return
  }
}
