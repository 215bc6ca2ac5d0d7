// Whether what was set up already runs: asked where it listens, over TLS by the name that it is known by.

import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { get as getByTls } from 'node:https'

const ANSWER_MS = 5_000

export interface Listener {
  /** host:port */
  listen: string
  /** What its certificate is for. */
  url: string
  tlsCert: string | undefined
}

/** The status of /health/ready; undefined where nothing answers. */
export function readiness({ listen, url, tlsCert }: Listener): Promise<number | undefined> {
  const { hostname, port } = new URL(`http://${listen}`)
  const everywhere = ['0.0.0.0', '[::]'].includes(hostname)
  const at = { host: everywhere ? '127.0.0.1' : hostname.replaceAll(/[[\]]/g, ''), port, path: '/health/ready' }
  const known = new URL(url)
  const headers = { host: known.host }
  return new Promise((resolve) => {
    const asked = tlsCert
      ? // Its own certificate is trusted: whoever set it up named the file.
        getByTls(
          { ...at, headers, servername: known.hostname, ca: readFileSync(tlsCert), allowPartialTrustChain: true },
          done,
        )
      : get({ ...at, headers }, done)
    function done(answer: { statusCode?: number | undefined; resume(): void }): void {
      answer.resume()
      resolve(answer.statusCode)
    }
    asked.setTimeout(ANSWER_MS, () => asked.destroy())
    asked.on('error', () => resolve(undefined))
  })
}
