// The states of every list and panel, so that each looks and reads the same everywhere: loading, empty, error, stale,
// no right, too many requests, an outcome that nobody knows.

import type { UseQueryResult } from '@tanstack/react-query'
import { type CSSProperties, type ReactNode, useState } from 'react'
import { type Problem, problemOf, reportOf } from '../api/problem.ts'
import { clock, shortId, span } from '../format.ts'
import { usePreferences } from '../preferences.ts'
import { CommandLine, Copy } from './copy.tsx'
import { Icon } from './icon.tsx'
import { NoRight } from './right.tsx'
import { SignInAgain } from './sign-in-again.tsx'
import { useNow } from './time.tsx'

/** A query; of pages that go on too. */
export type Shown<Data> = Pick<UseQueryResult<Data>, 'data' | 'error' | 'dataUpdatedAt'> & {
  errorUpdateCount?: number
  refetch(): unknown
}

interface LoadedProps<Data> {
  of: Shown<Data>
  /** How many rows the skeleton has. */
  rows?: number
  children: (data: Data) => ReactNode
}

/**
 * What a query brought, or why not: nothing for 150 ms, then a skeleton; the error instead of what never came; and what
 * came before stays, paler, with its age, when it can't be brought again.
 */
export function Loaded<Data>({ of, rows = 4, children }: LoadedProps<Data>) {
  const { data, dataUpdatedAt, errorUpdateCount = 0, refetch } = of
  // A query that never brought anything forgets its error while it asks again. Without this a page of an instance that
  // is away went blank for a moment every ten seconds.
  const [last, setLast] = useState(of.error)
  if (of.error && of.error !== last) setLast(of.error)
  const error = of.error ?? (data === undefined && errorUpdateCount > 0 ? last : null)
  if (data === undefined) {
    if (error) return <Trouble key={errorUpdateCount} error={error} onRetry={() => void refetch()} />
    return <Skeleton rows={rows} />
  }
  if (!error) return children(data)
  return (
    <div className="stale">
      <Stale since={dataUpdatedAt} error={error} />
      <div className="old">{children(data)}</div>
    </div>
  )
}

/** For a query that needs the answer of `first`: until that answer is there, both show the state of `first`. */
export function behind<Data>(first: Shown<unknown>, then: Shown<Data>): Shown<Data> {
  return first.data === undefined ? { ...first, data: undefined } : then
}

export function Skeleton({ rows }: { rows: number }) {
  return (
    <div className="skeleton" role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all alike
        <span key={at} style={{ '--w': `${[82, 64, 74, 56][at % 4]}%` } as CSSProperties} />
      ))}
    </div>
  )
}

interface EmptyProps {
  title: string
  /** Why, in a sentence. */
  children: ReactNode
  action?: ReactNode
  /** The line of the command line that does the same. */
  command?: string
}

export function Empty({ title, children, action, command }: EmptyProps) {
  return (
    <div className="b empty">
      <span className="wins" aria-hidden="true">
        {['a', 'b', 'c', 'd', 'e', 'f'].map((one) => (
          <i key={one} />
        ))}
      </span>
      <strong>{title}</strong>
      <p>{children}</p>
      <div className="row wrap">
        {action}
        {command && <CommandLine>{command}</CommandLine>}
      </div>
    </div>
  )
}

function Stale({ since, error }: { since: number; error: unknown }) {
  const { zone } = usePreferences()
  const { kind, message } = problemOf(error)
  return (
    <p className="row wrap since" role="status">
      <span className="dot warn" />
      <b>As of {clock(new Date(since), zone)}</b>
      <span className="mut" title={message}>
        {kind === 'away' ? 'reconnecting' : kind === 'rate' ? 'too many requests, it goes on by itself' : message}
      </span>
    </p>
  )
}

interface TroubleProps {
  error: unknown
  /** Something was to be changed. */
  isWrite?: boolean
  /** The same once more; of a write with its Idempotency-Key. */
  onRetry?: (() => void) | undefined
}

/** An error in its place: what it is, what was done, whom to ask with what, and what to do now. */
export function Trouble({ error, isWrite = false, onRetry }: TroubleProps) {
  const problem = problemOf(error, { isWrite })
  if (problem.kind === 'right') return <NoRight reference={<Reference problem={problem} />}>{problem.message}</NoRight>
  if (problem.kind === 'sign in again') return <SignInAgain problem={problem} onRetry={onRetry} />
  if (problem.kind === 'rate') return <TooMany problem={problem} onRetry={isWrite ? onRetry : undefined} />
  const isUnknown = problem.kind === 'unknown'
  return (
    <div className="trouble">
      <div className={`note ${isUnknown ? 'warn' : 'bad'}`} role="alert">
        <Icon name={isUnknown ? 'warning' : 'cross'} />
        <div>
          <b>{titleOf(problem)}</b>
          {problem.outcome && <p className="sm mut2">{problem.outcome}</p>}
          <Fields details={problem.details} />
        </div>
      </div>
      <Reference problem={problem} />
      {onRetry && (
        <button type="button" className={`btn s${isUnknown ? ' p' : ''}`} onClick={onRetry}>
          <Icon name="cycles" />
          {isUnknown ? 'Ask again' : 'Try now'}
        </button>
      )}
    </div>
  )
}

function titleOf({ kind, message }: Problem): string {
  if (kind === 'unknown') return 'It may or may not have been done.'
  return kind === 'signed out' ? 'You are not signed in any more.' : message
}

function Reference({ problem }: { problem: Problem }) {
  const { code, status, requestId } = problem
  return (
    <p className="row wrap">
      <span className="code">{code}</span>
      {status > 0 && <span className="id">{status}</span>}
      {requestId && (
        <span className="id" title={requestId}>
          {shortId(requestId)}
        </span>
      )}
      <Copy text={reportOf(problem, location.pathname)} label="Copy report" />
      {status > 0 && <a href={`/docs#error-${code}`}>Meaning</a>}
    </p>
  )
}

/** `details` of a refusal of input: each field with what is wrong about it. */
function Fields({ details }: { details: unknown }) {
  const fields = Array.isArray(details) ? details.filter(isField) : []
  if (fields.length === 0) return null
  return (
    <ul className="sm mut2">
      {fields.map(({ field, problem }) => (
        <li key={field}>
          <code>{field}</code> {problem}
        </li>
      ))}
    </ul>
  )
}

function isField(one: unknown): one is { field: string; problem: string } {
  const { field, problem } = (one ?? {}) as { field?: unknown; problem?: unknown }
  return typeof field === 'string' && typeof problem === 'string'
}

/** Counts down. Reads go on by themselves when it is over; a write waits for the person. */
function TooMany({ problem, onRetry }: { problem: Problem; onRetry?: (() => void) | undefined }) {
  const [until] = useState(() => Date.now() + (problem.retryAfterMs ?? 5_000))
  const left = Math.max(0, until - useNow(1_000))
  return (
    <div className="trouble" role="alert">
      <div className="note">
        <Icon name="clock" />
        <div>
          <b className="tn">
            {left > 0 ? `Too many requests: ${span(Math.ceil(left / 1_000) * 1_000)} left` : 'It goes on now'}
          </b>
          <p className="sm">
            {problem.message} {onRetry ? 'Nothing was done.' : 'This goes on by itself.'}
          </p>
        </div>
      </div>
      {onRetry && (
        <button type="button" className="btn s" disabled={left > 0} onClick={onRetry}>
          Try now
        </button>
      )}
    </div>
  )
}
