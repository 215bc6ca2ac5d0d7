// How a cell calls management: one request with a token valid for a minute, signed with the cell's own key. Errors name
// the setting to check.

import { randomUUID } from 'node:crypto'
import { type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import { callInSpan } from '@loci/chassis/trace.ts'
import { CELL_REFUSALS, type CellRefusal } from '@loci/contract/cells.ts'

export interface Management {
  managementUrl: string
  cellId: string
  cellKey: PrivateJwk
  /** Identifies this process of the cell: management detects two senders that alternate. */
  replica?: string
}

export class RefusedByManagement extends Error {
  readonly status: number
  /** Why the cell itself is refused (401). */
  readonly refusal: CellRefusal | undefined
  /** Instances of a report that management does not place in this cell. */
  readonly instances: string[]
  /** The invalid fields of the request (400), such as `body.observed.3.generation`. */
  readonly fields: string[]

  constructor(
    message: string,
    { status, refusal, instances, fields }: Pick<RefusedByManagement, 'status' | 'refusal' | 'instances' | 'fields'>,
  ) {
    super(message)
    this.name = 'RefusedByManagement'
    this.status = status
    this.refusal = refusal
    this.instances = instances
    this.fields = fields
  }
}

/** No answer: connection refused, unknown host, invalid certificate, or timeout. */
export class ManagementSilent extends Error {
  constructor(message: string, cause: unknown) {
    super(message, { cause })
    this.name = 'ManagementSilent'
  }
}

/** Refused, or never sent: management has certainly not done what was asked. */
export function isUntaken(error: unknown): boolean {
  if (error instanceof RefusedByManagement) return error.status < 500
  const { code } = ((error as Error).cause as { cause?: { code?: string } } | undefined)?.cause ?? {}
  return error instanceof ManagementSilent && UNCONNECTED.includes(code ?? '')
}

const UNCONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']

export async function callManagement(
  management: Management,
  line: string,
  { body, signal, timeoutMs }: { body?: object; signal: AbortSignal; timeoutMs: number },
): Promise<unknown> {
  const { managementUrl, cellId, cellKey, replica: rep } = management
  const [method, path] = line.split(' ') as [string, string]
  const now = Math.floor(Date.now() / 1000)
  const token = signJws(
    { alg: 'EdDSA', typ: 'loci-cell+jwt' },
    { iss: cellId, aud: managementUrl, iat: now, exp: now + 60, jti: randomUUID(), ...(rep ? { rep } : {}) },
    privateKeyOf(cellKey),
  )
  const named = `${method} ${path.split('?')[0]}`
  return callInSpan(named, async (traced) => {
    try {
      const answer = await fetch(`${managementUrl}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...traced,
          ...(body ? { 'content-type': 'application/json' } : {}),
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        redirect: 'error',
        signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      })
      if (!answer.ok) throw await refusalOf(management, named, answer)
      return await answer.json()
    } catch (error) {
      if (signal.aborted || error instanceof RefusedByManagement) throw error
      throw new ManagementSilent(`${managementUrl}: ${causeOf(error as Error, timeoutMs)}`, error)
    }
  })
}

/** The log message of a failure; the error's own message is logged as its reason. */
export function headlineOf(error: unknown): string {
  if (error instanceof ManagementSilent) return 'management does not answer; continuing with the last known state'
  if (!(error instanceof RefusedByManagement)) return 'feed page could not be read or applied'
  if (error.status === 401) return 'management refuses this cell; continuing with the last known state'
  return 'management answered with an error; continuing with the last known state'
}

async function refusalOf(management: Management, line: string, answer: Response): Promise<RefusedByManagement> {
  const body = (await answer.json().catch(() => undefined)) as
    | { error?: { code?: unknown; details?: { reason?: unknown; public_url?: unknown; instances?: string[] } } }
    | undefined
  const { code, details = {} } = body?.error ?? {}
  const refusal = answer.status === 401 ? CELL_REFUSALS.find((reason) => reason === details.reason) : undefined
  const fields = answer.status === 400 && Array.isArray(details) ? details.map(({ field }) => String(field)) : []
  const facts = { status: answer.status, refusal, instances: details.instances ?? [], fields }
  const named = typeof code === 'string' ? ` ${code}` : ''
  const reason = refusal
    ? `401: ${mendOf(refusal, management, details.public_url, answer.headers.get('date'))}`
    : `${answer.status}${named} from ${management.managementUrl} to ${line}`
  return new RefusedByManagement(reason, facts)
}

/** Which setting is wrong and what to do, for the operator of the cell. */
function mendOf(
  refusal: CellRefusal,
  { managementUrl, cellId, cellKey }: Management,
  publicUrl: unknown,
  date: string | null,
): string {
  switch (refusal) {
    case 'unknown_key':
      return `unknown key. The public key of LOCI_CELL_KEY is not registered for ${cellId}. Register it: management cells keys --cell ${cellId} --public-key ${cellKey.x}`
    case 'unknown_cell':
      return `unknown cell. ${managementUrl} has no cell ${cellId}. Compare LOCI_CELL_ID with: management cells list`
    case 'audience':
      return `wrong audience. LOCI_MANAGEMENT_URL is ${managementUrl}, management calls itself ${String(publicUrl)} (its LOCI_PUBLIC_URL): make them equal, to the letter`
    case 'clock':
      return `wrong clock. ${skewOf(date)}: let NTP set the clocks of both machines`
    case 'token':
      return 'management cannot read the token of this cell: does it run another release?'
  }
}

function skewOf(date: string | null): string {
  const skewS = Math.round((Date.now() - Date.parse(date ?? '')) / 1000)
  if (Number.isNaN(skewS)) return 'The clocks of this machine and of management differ'
  if (Math.abs(skewS) < 2) return 'The token had expired when it arrived, although the clocks agree'
  return `The clock of this machine is ${Math.abs(skewS)} s ${skewS > 0 ? 'ahead of' : 'behind'} management's`
}

/** fetch() reports only "fetch failed"; the reason is in its cause. */
function causeOf(error: Error, timeoutMs: number): string {
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs} ms`
  const { code, message } = ((error.cause ?? error) as NodeJS.ErrnoException) ?? error
  if (code === undefined) return message
  if (/^(CERT_|ERR_TLS_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code))
    return `${code}, its certificate does not verify: NODE_EXTRA_CA_CERTS names the file of a private authority`
  return code
}
