// How a cell talks to management: one request, with a token that is good for a minute and signed with the cell's own key.

import { randomUUID } from 'node:crypto'
import { type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'

export interface Management {
  managementUrl: string
  cellId: string
  cellKey: PrivateJwk
}

export class RefusedByManagement extends Error {
  /** Those that a report named and management does not place in this cell. */
  readonly instances: string[]

  constructor(message: string, instances: string[]) {
    super(message)
    this.name = 'RefusedByManagement'
    this.instances = instances
  }
}

export async function callManagement(
  { managementUrl, cellId, cellKey }: Management,
  line: string,
  { body, signal, timeoutMs }: { body?: object; signal: AbortSignal; timeoutMs: number },
): Promise<unknown> {
  const [method, path] = line.split(' ') as [string, string]
  const now = Math.floor(Date.now() / 1000)
  const token = signJws(
    { alg: 'EdDSA', typ: 'loci-cell+jwt' },
    { iss: cellId, aud: managementUrl, iat: now, exp: now + 60, jti: randomUUID() },
    privateKeyOf(cellKey),
  )
  const answer = await fetch(`${managementUrl}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  })
  if (!answer.ok) {
    const refusal = (await answer.json().catch(() => undefined)) as
      | { error?: { details?: { instances?: string[] } } }
      | undefined
    const instances = refusal?.error?.details?.instances ?? []
    throw new RefusedByManagement(`management answered ${answer.status} to ${method} ${path.split('?')[0]}`, instances)
  }
  return answer.json()
}
