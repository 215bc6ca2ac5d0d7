// The public address of management, as browsers see it: TLS where the address is https, one or more processes behind it
// in turns. It keeps what each request of a browser said of itself and how it was answered.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'

export interface Seen {
  line: string
  headers: IncomingHttpHeaders
  status: number
  setCookies: string[]
  /** The answer lets pages of another origin read it. */
  allowsOrigin: boolean
}

export interface Front extends AsyncDisposable {
  /** Base URLs of processes; who comes next goes to the next. */
  targets: string[]
  seen: Seen[]
  /** Paths that begin so are cut off and kept here: nobody behind the front hears of them. */
  cut: { prefix: string | undefined; paths: string[] }
  /** When no request of a browser is under way. */
  atRest(): Promise<void>
}

/** Of all the names that a test gives to loopback; made anew in each run. */
export interface Certificate {
  key: string
  cert: string
}

export function newCertificate(names: string[]): Certificate {
  const pem = execFileSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
      ...['-subj', '/CN=loci test', '-addext', `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`],
      ...['-keyout', '-'],
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] },
  )
  return { key: pem.slice(0, pem.indexOf('-----BEGIN CERTIFICATE')), cert: pem.slice(pem.indexOf('-----BEGIN CERT')) }
}

export async function startFront(port: number, targets: string[], certificate?: Certificate): Promise<Front> {
  let turn = 0
  const underWay = new Set<ServerResponse>()
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const { method = '', url = '', headers } = incoming
    if (front.cut.prefix !== undefined && url.startsWith(front.cut.prefix)) {
      front.cut.paths.push(url)
      incoming.socket.destroy()
      return
    }
    underWay.add(outgoing)
    outgoing.on('close', () => underWay.delete(outgoing))
    const target = new URL(front.targets[turn++ % front.targets.length] as string)
    const { hostname, port: to } = target
    const asked = request({ hostname, port: to, method, path: url, headers }, (answer) => {
      const { statusCode: status = 0 } = answer
      const { 'set-cookie': setCookies = [], 'access-control-allow-origin': allowed } = answer.headers
      const allowsOrigin = allowed !== undefined
      front.seen.push({ line: `${method} ${url}`, headers, status, setCookies, allowsOrigin })
      outgoing.writeHead(status, answer.headers)
      answer.pipe(outgoing)
    })
    asked.on('error', () => outgoing.destroy())
    outgoing.on('close', () => asked.destroy())
    incoming.pipe(asked)
  }
  const server = certificate ? createTlsServer(certificate, handle) : createServer(handle)
  const front: Front = {
    targets,
    seen: [],
    cut: { prefix: undefined, paths: [] },
    async atRest() {
      for (const one of underWay) if (!one.closed) await once(one, 'close')
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
  return front
}
