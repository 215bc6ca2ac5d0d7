// What is remembered of one user.

import { connectDaemon } from '@loci/sdk/client.ts'
import type { Service } from '@loci/sdk/services.ts'
import { userOf, withService, withUser } from '../profiles/connection.ts'
import type { Call, Result } from '../tree/command.ts'
import { argument, pairs, requireYes, seconds, shareOf, textOrInput, wholeNumber } from './given.ts'
import { ago, columns, counted, fields, share, short } from './shown.ts'

const LIST = 20

export async function store(call: Call): Promise<Result> {
  const content = await textOrInput(call, call.arguments[0], call.text('file'))
  const startedAt = performance.now()
  return withUser(call, async (user) => {
    const tags = call.list('tag')
    const ttl = seconds(call, 'ttl')
    const stored = await user.remember(content, {
      ...(tags.length > 0 ? { tags: [...tags] } : {}),
      metadata: pairs(call, 'meta'),
      key: call.text('key'),
      kind: call.text('kind'),
      sourceEventId: call.text('source'),
      ttlMs: ttl === undefined ? undefined : ttl * 1_000,
    })
    const ms = Math.round(performance.now() - startedAt)
    return { data: stored, lines: [`stored ${stored.id}  on disk, recallable now  ${ms} ms`] }
  })
}

export async function recall(call: Call): Promise<Result> {
  return withUser(call, async (user, service) => {
    const tags = call.list('tag')
    const expected = call.list('expect')
    const hits = await user.recall(argument(call, 0), {
      limit: wholeNumber(call, 'limit', 100) ?? 5,
      ...(tags.length > 0 ? { tags: [...tags] } : {}),
      minRelevance: shareOf(call, 'min-relevance'),
      ...(expected.length > 0 ? { recordIds: [...expected] } : {}),
    })
    const lines = hits.flatMap((hit, at) => {
      const parts = (hit.explain?.parts ?? []).filter(({ contribution }) => Math.abs(contribution) >= 0.005)
      const sum = parts.map(({ name, contribution }) => `${name} ${contribution.toFixed(2)}`).join(' + ')
      const why = [`          covers ${hit.why || 'none of the words'}`, `          ${hit.score.toFixed(2)} = ${sum}`]
      const place = `${String(at + 1).padStart(2)}  ${share(hit.relevance).padStart(4)}`
      const first = `${place}  ${short(hit.content)}  ${hit.id}  ${ago(hit.createdAt)}`
      return call.has('why') ? [first, ...why] : [first]
    })
    const nearest = hits.nearest.map(
      ({ id, relevance, content = '' }) => `  nearest  ${share(relevance)}  ${short(content)}  ${id}`,
    )
    const none = [
      `nothing that is remembered answers this${hits.reason ? `: ${hits.reason}` : ''}`,
      ...(call.has('why') ? nearest : []),
    ]
    const named = hits.named.map(({ id, standing, reason, rank, among, relevance }) => {
      const numbers = relevance === null ? '' : `  ${share(relevance)}`
      const stands = rank === null ? standing.replaceAll('_', ' ') : `${rank} of ${among}, ${standing}`
      return `expected  ${id}${numbers}  ${stands}: ${reason}`
    })
    const place = `service ${service.info?.slug ?? service.id}, user ${userOf(call)}`
    const count = `${counted(hits.length, 'result')} · ${Math.round(hits.answer.tookMs)} ms · ${place}`
    return { data: hits.answer, lines: [...(hits.length > 0 ? lines : none), ...named, count] }
  })
}

export async function get(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const daemon = await user.daemon()
    const { body } = await daemon.call('GET /v1/memory/records/{id}', { path: { id: argument(call, 0) } })
    return { data: body, lines: fields(body) }
  })
}

export async function list(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const limit = wholeNumber(call, 'limit', 100_000) ?? LIST
    const memories = await user.memories().all(limit)
    const { total } = memories.length < limit ? { total: memories.length } : await user.countMemories()
    const rows = memories.map(({ id, content, createdAt, tags }) => [
      id,
      ago(createdAt),
      tags.join(','),
      short(content),
    ])
    const none = `nothing is remembered of ${userOf(call)} yet; of whom there is something: loci people list`
    const count = `${memories.length} of ${counted(total, 'memory', 'memories')}`
    return { data: { memories, total }, lines: rows.length > 0 ? [...columns(rows), count] : [none] }
  })
}

export async function forget(call: Call): Promise<Result> {
  const id = argument(call, 0)
  return withUser(call, async (user) => {
    if (call.has('dry-run')) {
      const { body } = await (await user.daemon()).call('GET /v1/memory/records/{id}', { path: { id } })
      return { data: { dry_run: true, would_forget: body }, lines: [`would forget ${id}: ${short(body.content)}`] }
    }
    await requireYes(call, `Forget ${id} for ever, wherever it stands`)
    const gone = await user.forget(id)
    const found = gone.checked.reduce((sum, { erased }) => sum + erased, 0)
    return { data: gone, lines: [`forgotten ${id}  in ${found} places, receipt ${gone.receipt}`] }
  })
}

/** Everybody of whom something is kept: the databases of the service. */
export async function people(call: Call): Promise<Result> {
  return withService(call, async (service) => {
    const daemon = await asOperator(service)
    const { body } = await daemon.call('GET /v1/databases', { query: { limit: wholeNumber(call, 'limit', 1_000) } })
    const rows = body.databases.map(({ name, records, slots, keys, bytes, createdAt }) => [
      name,
      counted(records, 'memory', 'memories'),
      counted(slots, 'slot'),
      counted(keys, 'entry', 'entries'),
      `${bytes} bytes`,
      `since ${createdAt}`,
    ])
    return { data: body, lines: rows.length > 0 ? columns(rows) : ['nobody is known yet'] }
  })
}

export async function forgetPerson(call: Call): Promise<Result> {
  const name = argument(call, 0)
  return withService(call, async (service) => {
    if (call.has('dry-run')) return { data: { dry_run: true, name }, lines: [`would erase everything of ${name}`] }
    await requireYes(call, `Erase everything that is kept of ${name}`)
    const { status, body } = await (await asOperator(service)).call('DELETE /v1/databases/{name}', { path: { name } })
    return { data: body, lines: [status === 200 ? `everything of ${name} is erased` : `${name} is being erased`] }
  })
}

const OPERATOR_S = 300

/** Over all people of a service only an operator's capability reaches; this one is made for the moment. */
async function asOperator(service: Service): Promise<ReturnType<typeof connectDaemon>> {
  const { endpoint } = await service.known()
  const { token } = await service.createToken({
    name: 'loci people',
    ops: ['operator'],
    databases: ['*'],
    ttlSeconds: OPERATOR_S,
  })
  return connectDaemon({ url: endpoint as string, capability: token })
}
