// Somebody who has copied the key of a cell, and speaks as the cell from another address of this machine.

import { randomUUID } from 'node:crypto'
import { request } from 'node:http'
import { type PrivateJwk, privateKeyOf, signJws } from '@loci/capability/jws.ts'
import type { FeedItem } from '@loci/contract/feed.ts'

const FEED_TRIES_MAX = 60

export interface Thief {
  /** Everything that the cell is told: whose instances it has, and at which generation. */
  feed(): Promise<FeedItem[]>
  /** What came back. */
  report(body: object, token?: string): Promise<{ status: number; text: string }>
  token(): string
}

/** On Linux every address of 127/8 is this machine: the honest cell speaks from 127.0.0.1. */
const ADDRESS = '127.0.0.66'

export function createThief({ url, cellId, key }: { url: string; cellId: string; key: PrivateJwk }): Thief {
  const token = () => {
    const now = Math.floor(Date.now() / 1000)
    const claims = { iss: cellId, aud: url, iat: now, exp: now + 60, jti: randomUUID() }
    return signJws({ alg: 'EdDSA', typ: 'loci-cell+jwt' }, claims, privateKeyOf(key))
  }
  const send = (method: string, path: string, bearer: string, body?: object) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' }
      const call = request(`${url}${path}`, { method, headers, localAddress: ADDRESS, agent: false }, (response) => {
        let text = ''
        response.setEncoding('utf8')
        response.on('data', (chunk: string) => {
          text += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      })
      call.on('error', reject)
      call.end(body ? JSON.stringify(body) : undefined)
    })
  return {
    token,
    async feed() {
      let { status, text } = await send('GET', '/cell/v1/feed', token())
      // As a cell does: on a busy machine a statement may meet its time limit.
      for (let tries = 0; status === 503 && tries < FEED_TRIES_MAX; tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 500))
        ;({ status, text } = await send('GET', '/cell/v1/feed', token()))
      }
      if (status !== 200) throw new Error(`the feed answered ${status}: ${text}`)
      return (JSON.parse(text) as { items: FeedItem[] }).items
    },
    report: (body, bearer = token()) => send('POST', '/cell/v1/reports', bearer, { report_id: randomUUID(), ...body }),
  }
}
