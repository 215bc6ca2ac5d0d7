// What stands at the end of a trace: an HTTP server that takes OTLP as JSON, as a collector does, and keeps the spans.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  name: string
  /** 1 internal, 2 server, 3 client. */
  kind: number
  attributes: Record<string, unknown>
  /** The whole span as it came, to search in. */
  text: string
}

export interface OtlpReceiver {
  url: string
  spans: ReceivedSpan[]
  close(): void
}

interface OtlpSpan extends Omit<ReceivedSpan, 'attributes' | 'text'> {
  attributes?: { key: string; value: Record<string, unknown> }[]
}

interface OtlpRequest {
  resourceSpans?: { scopeSpans?: { spans?: OtlpSpan[] }[] }[]
}

/** `forwardTo`: another one, which gets every request as it came. */
export async function startOtlpReceiver(forwardTo?: string): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const bytes = Buffer.concat(chunks)
      const body = JSON.parse(bytes.toString('utf8')) as OtlpRequest
      for (const { scopeSpans = [] } of body.resourceSpans ?? [])
        for (const { spans: sent = [] } of scopeSpans) spans.push(...sent.map(readSpan))
      if (forwardTo !== undefined) {
        const sent = { method: 'POST', headers: { 'content-type': 'application/json' }, body: bytes }
        const { status } = await fetch(forwardTo + request.url, sent).catch(() => ({ status: 503 }))
        if (status !== 200) return void response.writeHead(status).end()
      }
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function readSpan(span: OtlpSpan): ReceivedSpan {
  const attributes = (span.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]])
  return {
    ...span,
    parentSpanId: span.parentSpanId ?? '',
    attributes: Object.fromEntries(attributes),
    text: JSON.stringify(span),
  }
}
