// The authorization matrix: every registered route × every kind of credential, held against a
// reviewed table. The routes come from the running router, so a route that nobody reviewed is found; so is a row whose
// route is gone.

import type { ErrorCode } from '@loci/contract/errors.ts'
import type { Route } from '../route.ts'
import type { TestAnswer } from './request.ts'

/**
 * `admitted` is any 2xx; `admitted or 404` is for a route that has nothing harmless to find: past access, it says that
 * there is no such thing; `as none` is whatever a request without any credential gets. Refusals in the specification's
 * flat shape have no code.
 */
export type Expectation =
  | `${number} ${ErrorCode}`
  | `${number} without a code`
  | '302'
  | '303'
  | 'admitted'
  | 'admitted or 404'
  | 'as none'

export interface MatrixRow<Kind extends string = string> {
  class: string
  operation?: string
  /** A second one that the route needs as well. */
  secondOperation?: string
  /** A body with which the route does its work and changes nothing. */
  body?: Record<string, unknown>
  /** Values of the parameters of the path. */
  params?: Record<string, string>
  /** Where the route differs from its class, with the reason beside it. */
  expected?: Readonly<Partial<Record<Kind, Expectation>>>
}

export interface Matrix<Kind extends string> {
  /** By `METHOD /path/{template}`, with a query where the route is asked with one; a route may have several. */
  rows: Readonly<Record<string, MatrixRow<Kind>>>
  kinds: readonly Kind[]
  /** By access class, or by `<class> with <operation>` where the operation decides, then by kind of credential. */
  expected: Readonly<Record<string, Readonly<Partial<Record<Kind, Expectation>>>>>
}

export interface MatrixRequest {
  line: string
  body: Record<string, unknown> | undefined
  /** Of the row: a credential is exact, or lacks something, with regard to it. */
  operation: string | undefined
  secondOperation?: string | undefined
}

type Ask<Kind extends string> = (kind: Kind, request: MatrixRequest) => Promise<TestAnswer>

/** Every cell that is missing or wrong, one sentence each; empty when the router is as it was reviewed. */
export async function matrixProblems<Kind extends string>(
  matrix: Matrix<Kind>,
  routes: readonly Route[],
  send: Ask<Kind>,
): Promise<string[]> {
  const registered = new Map(routes.map((route) => [`${route.spec.method} ${route.spec.path}`, route]))
  const problems = Object.keys(matrix.rows)
    .filter((line) => !registered.has(routeOf(line)))
    .map((line) => `${line} has a row and no route: delete the row`)
  for (const [name, { spec }] of registered) {
    const rows = Object.entries(matrix.rows).filter(([line]) => routeOf(line) === name)
    if (rows.length === 0) problems.push(`${name} is registered and has no row: review who may call it and add one`)
    for (const [line, row] of rows) {
      if (nameOf(row) !== nameOf(spec.access))
        problems.push(`${line} is reviewed as ${nameOf(row)} and registered as ${nameOf(spec.access)}`)
      else problems.push(...(await rowProblems(matrix, line, row, send)))
    }
  }
  return problems
}

function routeOf(line: string): string {
  return line.replace(/\?.*/, '')
}

function nameOf({ class: name, operation, secondOperation }: Omit<MatrixRow, 'expected'>): string {
  const needed = [operation, secondOperation].filter((one) => one !== undefined)
  return needed.length === 0 ? name : `${name} with ${needed.join(' and ')}`
}

async function rowProblems<Kind extends string>(
  { kinds, expected }: Matrix<Kind>,
  line: string,
  row: MatrixRow<Kind>,
  send: Ask<Kind>,
): Promise<string[]> {
  const cells = expected[nameOf(row)] ?? expected[row.class]
  if (!cells) return [`${line}: the class ${row.class} has no expectations`]
  const request = {
    line: line.replace(/\{(\w+)\}/g, (_, name) => encodeURIComponent(row.params?.[name] ?? 'x')),
    body: row.body,
    operation: row.operation,
    secondOperation: row.secondOperation,
  }
  const problems: string[] = []
  let none: string | undefined
  for (const kind of kinds) {
    // A row only differs from its class: what the class has not decided, no row decides.
    const expectation = cells[kind] && (row.expected?.[kind] ?? cells[kind])
    if (expectation === undefined) {
      problems.push(`${line}: the class ${row.class} has no expectation for '${kind}'`)
      continue
    }
    const came = outcomeOf(await send(kind, request))
    if (kind === 'none') none = came
    if (!fits(expectation, came, none)) problems.push(`${line} with '${kind}': expected ${expectation}, came ${came}`)
  }
  return problems
}

function fits(expectation: Expectation, came: string, none: string | undefined): boolean {
  if (expectation === 'as none') return came === none
  const isAdmitted = /^2/.test(came)
  if (expectation === 'admitted') return isAdmitted
  return expectation === 'admitted or 404' ? isAdmitted || came === '404 NOT_FOUND' : came === expectation
}

function outcomeOf({ status, text }: TestAnswer): string {
  if (status < 400) return String(status)
  const { error } = JSON.parse(text)
  return `${status} ${typeof error === 'string' ? 'without a code' : error.code}`
}
