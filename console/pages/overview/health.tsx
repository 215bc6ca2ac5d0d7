// How the parts of its daemon are, as each says it of itself.

import type { CycleCorruption } from '@loci/sdk/daemon.ts'
import { type UseQueryResult, useQuery } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { problemOf } from '../../api/problem.ts'
import { ago, bytes, count, span, took } from '../../format.ts'
import { useService } from '../../frame/service.tsx'
import { Card } from '../../parts/card.tsx'
import { Status, type Tone } from '../../parts/status.tsx'
import { useNow } from '../../parts/time.tsx'
import { healthQueries } from './queries.ts'

export function Health() {
  const queries = healthQueries(useService())
  const store = useQuery(queries.store)
  const cycles = useQuery(queries.cycles)
  const chain = useQuery(queries.chain)
  const mind = useQuery(queries.mind)
  const daemon = useQuery(queries.daemon)
  const now = useNow(5_000)
  const checkedAt = Math.max(store.dataUpdatedAt, cycles.dataUpdatedAt)
  return (
    <Card title="Health" aside={checkedAt > 0 && `checked ${ago(new Date(checkedAt), now)}`}>
      <dl className="kv health">
        <Part name="Store" of={store}>
          {({ status, probe, detail }) => [
            toneOf(status),
            detail ?? `write ${took(probe.writeMs)}, commit ${took(probe.commitMs)}, read ${took(probe.readMs)}`,
          ]}
        </Part>
        <Part name="Cycles" of={cycles}>
          {({ status, lastCycle, backlog, attempts }) => [
            toneOf(status),
            attempts.consecutiveFailures > 0
              ? `${count(attempts.consecutiveFailures)} failed in a row: ${attempts.lastFailureCode}`
              : `${lastCycle ? `last ${ago(lastCycle.completedAt, now)}` : 'none yet'}, ${backlog.projections > 0 ? `${count(backlog.projections)} wait` : 'nothing waits'}`,
          ]}
        </Part>
        <Part name="Working memory" of={mind}>
          {({ slotCount, capacity, bytes: held }) => ['ok', `${slotCount} of ${capacity} places, ${bytes(held)}`]}
        </Part>
        <Part name="Chain of cycles" of={chain}>
          {({ completedCycles, corruption }) => [
            corruption.detected ? 'bad' : isChecked(corruption, completedCycles) ? 'ok' : 'idle',
            corruption.detected
              ? `${count(corruption.count)} of ${count(completedCycles)} damaged`
              : `${count(corruption.checkedThroughSeq ?? 0)} of ${count(completedCycles)} verified`,
          ]}
        </Part>
        <Part name="Loop" of={cycles}>
          {({ loop }) => [
            loop.stalled ? 'warn' : 'ok',
            loop.stalled ? `stalled, ${span(loop.lagMs)} late` : (LOOP[loop.state] ?? loop.state),
          ]}
        </Part>
        <Part name="Daemon" of={daemon}>
          {({ version, uptime }) => ['ok', `${version}, up ${span(uptime * 1_000)}`]}
        </Part>
      </dl>
    </Card>
  )
}

/** A chain of which nothing was read again since it was written is not known to be whole. */
function isChecked({ status, checkedThroughSeq }: CycleCorruption, cycles: number): boolean {
  return status === 'clean' && (cycles === 0 || (checkedThroughSeq ?? 0) > 0)
}

const LOOP: Readonly<Record<string, string>> = {
  off: 'off: cycles run when they are asked for',
  idle: 'idle, nothing came in since',
  due: 'due',
}

function toneOf(status: string): Tone {
  return status === 'ok' ? 'ok' : status === 'failed' ? 'bad' : 'warn'
}

const WORDS: Readonly<Record<Tone, readonly [string, 'check' | 'warning' | 'cross' | 'info']>> = {
  ok: ['OK', 'check'],
  warn: ['Look', 'warning'],
  bad: ['Failed', 'cross'],
  idle: ['Unknown', 'info'],
  acc: ['OK', 'check'],
}

interface PartProps<Data> {
  name: string
  of: UseQueryResult<Data>
  children(data: Data): readonly [Tone, ReactNode]
}

function Part<Data>({ name, of: { data, error }, children }: PartProps<Data>) {
  const problem = error ? problemOf(error) : undefined
  const [tone, text] = problem
    ? ([
        problem.kind === 'right' ? 'idle' : 'bad',
        problem.kind === 'right' ? 'your role may not see it' : problem.message,
      ] as const)
    : data === undefined
      ? [undefined, '–']
      : children(data)
  const [word, icon] = WORDS[tone ?? 'idle']
  return (
    <>
      <dt>{name}</dt>
      <dd className="row">
        {tone && (
          <Status tone={tone} icon={icon}>
            {word}
          </Status>
        )}
        <span className="mut sm">{text}</span>
      </dd>
    </>
  )
}
