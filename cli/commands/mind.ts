// What is in mind of one user now: the slots of working memory, cycles that decide about them, and advice on tools.

import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cycle, Slot } from '@loci/sdk/daemon.ts'
import { usage } from '../failure.ts'
import { withUser } from '../profiles/connection.ts'
import { asOperator } from '../profiles/operator.ts'
import type { Call, Result } from '../tree/command.ts'
import { argument, jsonOrText, requireYes, seconds, shareOf, wholeNumber } from './given.ts'
import { ago, columns, fields, share, short } from './shown.ts'

const LIST = 20
/** Of --watch, where no event says that something changed. */
const LOOK_MS = 1_000

function slotRow({ key, activation, pinned, value, updatedAt }: Slot): string[] {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return [share(activation), pinned ? 'pinned' : '', key, short(text, 70), ago(updatedAt)]
}

export async function slots(call: Call): Promise<Result> {
  if (call.has('watch') && call.isJson) throw usage('--watch goes on for as long as it runs: it has no --json.')
  return withUser(call, async (user) => {
    let shown = ''
    for (;;) {
      const list = await user.slots.list()
      const lines = [...columns(list.slots.map(slotRow)), `${list.count} of ${list.capacity} slots`]
      if (!call.has('watch')) return { data: list, lines }
      const now = JSON.stringify(list.slots.map(({ key, version }) => [key, version]))
      if (now !== shown) call.host.out(`${lines.join('\n')}\n\n`)
      shown = now
      if (call.host.signal.aborted) return { data: null }
      await sleep(LOOK_MS, undefined, { signal: call.host.signal }).catch(() => {})
      if (call.host.signal.aborted) return { data: null }
    }
  })
}

export async function putSlot(call: Call): Promise<Result> {
  const ttl = seconds(call, 'ttl')
  return withUser(call, async (user) => {
    const given = {
      salience: shareOf(call, 'salience'),
      ...(call.has('pin') ? { pinned: true } : {}),
      ...(ttl ? { ttlMs: ttl * 1_000 } : {}),
    }
    const written = await user.slots.put(argument(call, 0), jsonOrText(argument(call, 1)), given)
    return {
      data: written,
      lines: [`${written.key} is in mind, version ${written.version}, activation ${share(written.activation)}`],
    }
  })
}

export async function getSlot(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const daemon = await user.daemon()
    const { body } = await daemon.call('GET /v1/working-memory/slots/{key}', { path: { key: argument(call, 0) } })
    return { data: body, lines: fields(body) }
  })
}

export async function deleteSlot(call: Call): Promise<Result> {
  const key = argument(call, 0)
  return withUser(call, async (user) => {
    if (call.has('dry-run')) {
      const { body } = await (await user.daemon()).call('GET /v1/working-memory/slots/{key}', { path: { key } })
      return { data: { dry_run: true, would_delete: body }, lines: [`would delete ${key}`] }
    }
    await requireYes(call, `Delete the slot ${key}`)
    const gone = await user.slots.delete(key)
    return { data: gone, lines: [`${key} is out of mind`] }
  })
}

export async function slotStats(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const stats = await user.slots.stats()
    return { data: stats, lines: fields(stats) }
  })
}

export async function evictions(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const left = await user.slots.evictions().all(wholeNumber(call, 'limit', 10_000) ?? LIST)
    const rows = left.map(({ evictedAt, key, reason, displacedBy }) => [
      ago(evictedAt),
      key,
      reason,
      displacedBy ? `for ${displacedBy}` : '',
    ])
    return { data: { evictions: left }, lines: rows.length > 0 ? columns(rows) : ['nothing left yet'] }
  })
}

export async function clear(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const dryRun = call.has('dry-run')
    if (!dryRun) await requireYes(call, 'Clear all slots that are not pinned')
    const cleared = await user.slots.clear({ dryRun, includePinned: call.has('pinned-too') })
    const line = `${dryRun ? 'would clear' : 'cleared'} ${cleared.cleared}, ${cleared.retained} stay`
    return {
      data: cleared,
      lines: [line, ...(cleared.undo ? [`take it back: loci wm restore ${cleared.undo.token}`] : [])],
    }
  })
}

export async function restore(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const restored = await user.slots.restore({ undoToken: argument(call, 0) })
    return { data: restored, lines: fields(restored) }
  })
}

const CONFIG = {
  wm: ['GET /v1/working-memory/config', 'PUT /v1/working-memory/config'],
  cycles: ['GET /v1/cognitive/config', 'PUT /v1/cognitive/config'],
} as const

export async function readConfig(call: Call, area: keyof typeof CONFIG): Promise<Result> {
  return withUser(call, async (user, service) => {
    const { body } = await (await asOperator(service, user.name)).call(CONFIG[area][0])
    return { data: body, lines: fields(body) }
  })
}

/** Over what was put before: a PUT replaces all of it. */
export async function changeConfig(call: Call, area: keyof typeof CONFIG): Promise<Result> {
  const change = Object.fromEntries(
    call.arguments.map((pair) => {
      const at = pair.indexOf('=')
      if (at < 1) throw usage(`A setting is name=value, not '${pair}'.`)
      return [pair.slice(0, at), jsonOrText(pair.slice(at + 1))]
    }),
  )
  return withUser(call, async (user, service) => {
    const daemon = await asOperator(service, user.name)
    const { body } = await daemon.call(CONFIG[area][1], { body: change })
    return { data: body, lines: fields(body) }
  })
}

function cycleLine({ id, startedAt, durationMs, focus, decisions }: Cycle): string[] {
  const { admitted, kept, evicted, stored } = decisions
  return [
    id,
    ago(startedAt),
    `${Math.round(durationMs)} ms`,
    `+${admitted} =${kept} -${evicted}, ${stored} stored`,
    focus ?? '',
  ]
}

export async function runCycle(call: Call): Promise<Result> {
  const file = call.text('observations')
  const read =
    file === undefined
      ? []
      : readFileSync(resolve(call.host.cwd, file), 'utf8')
          .split('\n')
          .filter((line) => line.trim() !== '')
  const seen = [...call.list('observe'), ...read.map((line) => jsonOrText(line) as string)]
  return withUser(call, async (user) => {
    const cycle = await user.cycle({
      focus: call.text('focus'),
      ...(seen.length > 0 ? { observations: seen } : {}),
      ...(call.has('dry-run') ? { dryRun: true } : {}),
    })
    const lines =
      'phases' in cycle ? [...columns([cycleLine(cycle as Cycle)]), ...waterfall(cycle as Cycle)] : fields(cycle)
    return { data: cycle, lines }
  })
}

export async function listCycles(call: Call): Promise<Result> {
  const back = seconds(call, 'since')
  const since = back === undefined ? undefined : new Date(Date.now() - back * 1_000).toISOString()
  return withUser(call, async (user) => {
    const cycles = await user
      .cycles(since === undefined ? {} : { since })
      .all(wholeNumber(call, 'limit', 10_000) ?? LIST)
    return {
      data: { cycles },
      lines: cycles.length > 0 ? columns(cycles.map(cycleLine)) : ['no cycle yet: loci cycles run'],
    }
  })
}

export async function getCycle(call: Call): Promise<Result> {
  const id = argument(call, 0)
  return withUser(call, async (user) => {
    const { body } = await (await user.daemon()).call('GET /v1/cognitive/cycles/{id}', { path: { id } })
    const decisions = await user.decisions(id).all(200)
    const rows = decisions.map(({ action, subject, reason, score }) => [
      action,
      subject.key ?? subject.kind,
      score.toFixed(2),
      short(reason),
    ])
    const lines = [...columns([cycleLine(body)]), ...(call.has('waterfall') ? waterfall(body) : []), ...columns(rows)]
    return { data: { ...body, decisionList: decisions }, lines }
  })
}

const BAR = 40

/** When each phase began and how long it took, drawn to one scale. */
function waterfall({ phases, durationMs }: Cycle): string[] {
  const scale = (ms: number) => Math.round((ms / Math.max(0.001, durationMs)) * BAR)
  return phases.map(({ name, startMs, durationMs: ms, in: taken, out }) => {
    const bar = `${' '.repeat(Math.min(BAR - 1, scale(startMs)))}${'█'.repeat(Math.max(1, scale(ms)))}`.slice(0, BAR)
    return `  ${name.padEnd(10)} |${bar.padEnd(BAR)}| ${ms.toFixed(1).padStart(7)} ms  ${taken} → ${out}`
  })
}

export async function cycleStats(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const stats = await user.cycleStats()
    return { data: stats, lines: fields(stats) }
  })
}

export async function rankTools(call: Call): Promise<Result> {
  const tools = call.list('tool')
  return withUser(call, async (user) => {
    const advice = await user.rankTools({
      taskClass: call.text('class') ?? 'general',
      taskIntent: argument(call, 0),
      ...(tools.length > 0 ? { candidateTools: [...tools] } : {}),
      ...(call.text('event') ? { sourceEventId: call.text('event') as string } : {}),
      policySourceRef: call.text('policy'),
    })
    const ranked = advice.rankedTools.map((tool, at) => {
      const { toolId, score, reasons } = tool as unknown as { toolId: string; score: number; reasons?: unknown }
      return [String(at + 1), score.toFixed(2), toolId, short(Array.isArray(reasons) ? reasons.join('; ') : '')]
    })
    const denied = advice.policy.deniedTools.map(
      (tool) => `  denied  ${(tool as unknown as { toolId: string }).toolId}`,
    )
    return {
      data: advice,
      lines: [...(ranked.length > 0 ? columns(ranked) : ['nothing is known of tools for this yet']), ...denied],
    }
  })
}

export async function reportOutcome(call: Call): Promise<Result> {
  const latency = wholeNumber(call, 'latency-ms', 86_400_000)
  return withUser(call, async (user) => {
    const told = await user.reportOutcome({
      taskClass: call.text('class') ?? 'general',
      taskIntent: call.text('intent'),
      sourceEventId: call.text('event'),
      tools: [
        {
          toolId: argument(call, 0),
          outcome: argument(call, 1) as 'success',
          latencyMs: latency,
          errorCode: call.text('error'),
        },
      ],
    })
    return {
      data: told,
      lines: [`${told.duplicate ? 'known already' : 'counted'}: ${argument(call, 0)} ${argument(call, 1)}`],
    }
  })
}

export async function putEntry(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const { body } = await (await user.daemon()).call('PUT /v1/kv/entries/{key}', {
      path: { key: argument(call, 0) },
      body: { value: jsonOrText(argument(call, 1)) },
    })
    return { data: body, lines: fields(body) }
  })
}

export async function getEntry(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const { body } = await (await user.daemon()).call('GET /v1/kv/entries/{key}', { path: { key: argument(call, 0) } })
    return { data: body, lines: [typeof body.value === 'string' ? body.value : JSON.stringify(body.value)] }
  })
}

export async function listEntries(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const { body } = await (await user.daemon()).call('GET /v1/kv/entries', {
      query: { limit: wholeNumber(call, 'limit', 1_000) },
    })
    const { entries } = body as unknown as { entries: { key: string; version: number }[] }
    return {
      data: body,
      lines:
        entries.length > 0 ? columns(entries.map(({ key, version }) => [key, `version ${version}`])) : ['no entry yet'],
    }
  })
}

export async function deleteEntry(call: Call): Promise<Result> {
  const key = argument(call, 0)
  return withUser(call, async (user) => {
    if (call.has('dry-run')) return { data: { dry_run: true, key }, lines: [`would delete ${key}`] }
    await requireYes(call, `Delete the entry ${key}`)
    const { body } = await (await user.daemon()).call('DELETE /v1/kv/entries/{key}', { path: { key } })
    return { data: body, lines: [`deleted ${key}`] }
  })
}

export async function kvHealth(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const { body } = await (await user.daemon()).call('GET /v1/kv/health')
    return { data: body, lines: fields(body) }
  })
}

export async function consistency(call: Call): Promise<Result> {
  return withUser(call, async (user) => {
    const { body } = await (await user.daemon()).call('GET /v1/kv/consistency', {
      query: { mode: call.has('full') ? 'full' : 'incremental' },
    })
    return { data: body, lines: fields(body), ...(body.status === 'inconsistent' ? { exit: 1 } : {}) }
  })
}
