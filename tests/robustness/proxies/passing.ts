// Checks of everything that must pass a proxy unchanged. Each says in its figure what it saw.

import { request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { HEADER } from '@loci/contract/headers.ts'
import type { WorldTenant } from '../../world/tenants.ts'
import { NAMES, type RunningProxy } from './proxies.ts'

export interface Secrets {
  apiKey: string
  adminToken: string
  tenant: WorldTenant
}

export interface Passing {
  proxy: RunningProxy
  secrets: Secrets
  /** The certificate that the proxy shows. */
  certificate: string
  /** The daemon itself, without TLS. */
  direct: string
}

interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: unknown
  /** An address of loopback: who asks. */
  from?: string
}

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  text: string
}

export type Outcome = [isKept: boolean, figure: string]
const CLIENT = '127.0.0.2'
const ADMIN = '127.0.0.3'
const PROBE_MS_MAX = 60_000
/** The mutant of a buffering proxy waits this long in vain. */
const SEEN_MS_MAX = 10_000
/** Longer than a proxy waits for a byte. */
const SILENT_MS = 80_000

export const CHECKS: Record<string, { says: string; look(passing: Passing): Promise<Outcome> }> = {
  paths: {
    says: 'an escaped path and what it names come back as they were sent',
    async look(passing) {
      const path = `/v1/kv/entries/${encodeURIComponent('a/b c?ü')}`
      const put = await cell(passing, path, { method: 'PUT', body: { value: { text: 'ü' } } })
      const got = await cell(passing, path)
      return [put.status < 300 && got.status === 200 && got.text.includes('"ü"'), `${put.status}, ${got.status}`]
    },
  },
  headers: {
    says: 'a header of 12 KB passes, as a long delegation is one',
    async look(passing) {
      const { status } = await cell(passing, '/v1/working-memory/slots', {
        headers: { 'x-padding': 'x'.repeat(12_000) },
      })
      return [status === 200, `${status}`]
    },
  },
  bodies: {
    says: '900 KB are stored, and 1.5 MB are refused in the words of loci',
    async look(passing) {
      const batch = (count: number) => ({
        method: 'POST',
        body: { records: Array.from({ length: count }, (_, at) => ({ content: `${at} ${'word '.repeat(3_000)}` })) },
      })
      const path = '/v1/memory/records/batch'
      const [stored, refused] = [await cell(passing, path, batch(60)), await cell(passing, path, batch(99))]
      const code = /"code":"([A-Z_]+)"/.exec(refused.text)?.[1]
      return [
        stored.status < 300 && refused.status === 413 && code !== undefined,
        `${stored.status}, ${refused.status} ${code}`,
      ]
    },
  },
  tls: {
    says: 'what comes by TLS is served and told to stay there; the program itself refuses what does not',
    async look(passing) {
      const through = await cell(passing, '/health/ready')
      const direct = await fetch(`${passing.direct}/health/ready`)
      const stays = through.headers['strict-transport-security']
      return [
        through.status === 200 && stays !== undefined && direct.status === 403,
        `${through.status} ${stays}, ${direct.status}`,
      ]
    },
  },
  address: {
    says: 'who asks is who the proxy saw, whatever a client says of itself',
    async look(passing) {
      const admin = { [HEADER.adminToken]: passing.secrets.adminToken }
      const path = '/admin/audit'
      const forged = await cell(passing, path, { headers: { ...admin, 'x-forwarded-for': ADMIN } })
      const own = await cell(passing, path, { headers: admin, from: ADMIN })
      return [
        forged.status === 403 && own.status === 200,
        `forged ${forged.status}, from its own address ${own.status}`,
      ]
    },
  },
  control: {
    says: 'management answers a key, and its pages keep their rules',
    async look({ proxy, secrets, certificate }) {
      const at = { proxy, certificate, name: NAMES.management }
      const services = await ask(at, '/api/v1/services', { headers: { [HEADER.apiKey]: secrets.apiKey } })
      const page = await ask(at, '/sign-in')
      const policy = `${page.headers['content-security-policy']}`
      return [
        services.status === 200 && policy.includes('default-src '),
        `${services.status}, ${page.status} ${policy.slice(0, 40)}`,
      ]
    },
  },
  stream: {
    says: `an event is seen while its stream stays open, and again after ${SILENT_MS / 1_000} s of silence on the same one`,
    look: (passing) => followed(passing, SILENT_MS),
  },
}

/** For a mutant: without the silence. */
export const seenAtOnce = (passing: Passing): Promise<Outcome> => followed(passing, 0)

/** Until both programs answer through it. */
export async function untilServed({ proxy, certificate }: Pick<Passing, 'proxy' | 'certificate'>): Promise<void> {
  const until = performance.now() + PROBE_MS_MAX
  for (const name of Object.values(NAMES)) {
    for (;;) {
      const status = await ask({ proxy, certificate, name }, '/health/ready').then(
        (answer) => answer.status,
        (error: Error) => error.message,
      )
      // This route is refused without TLS, so an answer shows that it was used.
      if (status === 200 || status === 403) break
      if (performance.now() > until) throw new Error(`${name} behind ${proxy.name}: ${status}`)
      await sleep(100)
    }
  }
}

async function followed(passing: Passing, silentMs: number): Promise<Outcome> {
  const stream = open(passing)
  try {
    await stream.opened
    const waits: number[] = []
    for (const round of [1, 2]) {
      if (round === 2) await sleep(silentMs)
      const text = `round ${round} of ${passing.proxy.name} ${performance.now()}`
      const begun = performance.now()
      const put = await cell(passing, '/v1/working-memory/slots/seen', { method: 'PUT', body: { value: text } })
      if (put.status >= 300) return [false, `the slot was answered ${put.status} ${put.text.slice(0, 200)}`]
      const seen = await stream.next(SEEN_MS_MAX)
      if (!seen) return [false, `not seen within ${SEEN_MS_MAX} ms in round ${round}`]
      waits.push(Math.round(performance.now() - begun))
    }
    return [!stream.isEnded(), `seen after ${waits.join(' and ')} ms`]
  } finally {
    stream.close()
  }
}

function open({ proxy, secrets, certificate }: Passing) {
  let [events, taken, isEnded] = [0, 0, false]
  let wake = () => {}
  const sent = request({
    ...place({ proxy, certificate, name: NAMES.cell }, CLIENT),
    path: '/v1/events',
    headers: { host: NAMES.cell, [HEADER.capability]: secrets.tenant.capability.token },
  })
  const opened = new Promise<void>((resolve, reject) => {
    // A proxy that holds lines back holds the head of the answer back with them.
    sent.setTimeout(SEEN_MS_MAX, () => reject(new Error(`the stream was not answered within ${SEEN_MS_MAX} ms`)))
    sent.once('error', reject)
    sent.once('response', (answer) => {
      if (answer.statusCode !== 200) reject(new Error(`the stream was answered ${answer.statusCode}`))
      sent.setTimeout(0)
      answer.setEncoding('utf8')
      answer.on('data', (text: string) => {
        events += text.split('\nevent: slot.').length - 1 + (text.startsWith('event: slot.') ? 1 : 0)
        wake()
      })
      answer.once('close', () => {
        isEnded = true
        wake()
      })
      answer.on('error', () => {})
      resolve()
    })
  })
  sent.end()
  return {
    opened,
    isEnded: () => isEnded,
    async next(withinMs: number): Promise<boolean> {
      const until = performance.now() + withinMs
      while (events <= taken && !isEnded && performance.now() < until)
        await Promise.race([new Promise<void>((resolve) => (wake = resolve)), sleep(until - performance.now())])
      const isSeen = events > taken
      taken = events
      return isSeen
    },
    close: () => sent.destroy(),
  }
}

const cell = ({ proxy, certificate, secrets }: Passing, path: string, sent: Sent = {}) =>
  ask({ proxy, certificate, name: NAMES.cell }, path, {
    ...sent,
    headers: { [HEADER.capability]: secrets.tenant.capability.token, ...sent.headers },
  })

interface At {
  proxy: RunningProxy
  certificate: string
  name: string
}

const place = ({ proxy, certificate, name }: At, from: string) => ({
  ...{ host: '127.0.0.1', port: proxy.port, servername: name, localAddress: from },
  ...{ ca: certificate, agent: false },
})

function ask(at: At, path: string, { method = 'GET', headers = {}, body, from = CLIENT }: Sent = {}): Promise<Answer> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const type = text === undefined ? {} : { 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const sent = request(
      { ...place(at, from), method, path, headers: { host: at.name, ...type, ...headers } },
      (answer) => {
        const parts: Buffer[] = []
        answer.on('data', (part: Buffer) => parts.push(part))
        answer.once('error', reject)
        answer.once('end', () =>
          resolve({
            status: answer.statusCode as number,
            headers: answer.headers,
            text: Buffer.concat(parts).toString('utf8'),
          }),
        )
      },
    )
    sent.once('error', reject)
    sent.end(text)
  })
}
