// Capabilities in use: single requests, a load of valid ones, and how long a revocation takes to be felt.

import { attenuate, inspectCapability, seal } from '@loci/capability/capability.ts'
import type { LociProcess } from '../world/process.ts'
import { manage, type WorldTenant } from '../world/tenants.ts'
import type { World } from '../world/world.ts'
import { NARROW } from './hostile-tokens.ts'

export interface Revoked {
  token: string
  /** Until each replica refused it, from the call of whoever revokes. */
  ms: number[]
  /** The same from his answer: 0 when it was refused before he had it. */
  afterMs: number[]
  isBack: boolean
}

/** A child of its own for each: what a holder makes offline can be revoked like what management minted. */
export async function timeRevocation(
  world: World,
  tenant: WorldTenant,
  revoke: (jti: string) => Promise<unknown>,
): Promise<Revoked> {
  const token = seal(attenuate(tenant.capability.delegation), NARROW)
  const [, child] = inspectCapability(token) as [unknown, { claims: { jti: string } }]
  const { jti } = child.claims
  for (const { url } of world.daemons) await mustServe(url, token)
  const startedAt = performance.now()
  let isBack = false
  const watchers = world.daemons.slice(0, 2).map(async ({ url }) => {
    let ms = Number.POSITIVE_INFINITY
    while (performance.now() - startedAt < 120_000) {
      const { status, text } = await ask(url, 'GET', '/v1/kv/entries', token)
      if (status === 401 && text.includes('CAPABILITY_REVOKED')) {
        ms = Math.round(performance.now() - startedAt)
        break
      }
      await sleep(15)
    }
    for (let looks = 0; looks < 5; looks += 1) {
      isBack ||= (await ask(url, 'GET', '/v1/kv/entries', token)).status === 200
      await sleep(40)
    }
    return ms
  })
  await revoke(jti)
  const answeredMs = Math.round(performance.now() - startedAt)
  const ms = await Promise.all(watchers)
  return { token, ms, afterMs: ms.map((one) => Math.max(0, one - answeredMs)), isBack }
}

export async function ask(
  url: string,
  method: string,
  path: string,
  token: string,
  database?: string,
  body?: object,
): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      'x-loci-capability': token,
      ...(database ? { 'x-loci-database': database } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return { status: answer.status, text: await answer.text() }
}

async function mustServe(url: string, token: string): Promise<void> {
  const { status, text } = await ask(url, 'GET', '/v1/kv/entries', token)
  if (status !== 200) throw new Error(`a valid token was refused before anything happened: ${text}`)
}

export function mint(world: World, { serviceId }: WorldTenant, args: string[]): Promise<{ token: string }> {
  return manage(world, ['tokens', 'mint', '--service', serviceId, '--ttl', '3600', ...args])
}

export async function revokeByAdmin(world: World, { url }: LociProcess, body: object): Promise<void> {
  const answer = await fetch(`${url}/admin/revocations`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-loci-admin-token': world.adminToken },
    body: JSON.stringify(body),
  })
  if (answer.status !== 200) throw new Error(`the administration answered ${answer.status}: ${await answer.text()}`)
}

/** Clients that each use one valid token on one replica after the other, until told to stop. */
export function startLoad(daemons: LociProcess[], tokens: string[], clientCount: number) {
  const urls = daemons.map(({ url }) => url)
  const tally = { requests: 0, refused: [] as string[] }
  let isOver = false
  const client = async (at: number) => {
    for (let turn = at; !isOver; turn += 1) {
      const url = urls[turn % urls.length] as string
      const answer = await ask(url, 'GET', '/v1/system/info', tokens[at % tokens.length] as string).catch(
        (error: Error) => ({ status: 0, text: error.message }),
      )
      tally.requests += 1
      if (answer.status !== 200) tally.refused.push(`${answer.status} ${answer.text.slice(0, 120)}`)
      await sleep(10)
    }
  }
  const clients = Array.from({ length: clientCount }, (_, at) => client(at))
  return {
    async stop() {
      isOver = true
      await Promise.all(clients)
      return tally
    },
  }
}

export function percentile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] as number
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
