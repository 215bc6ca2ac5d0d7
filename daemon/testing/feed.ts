// A management for a daemon under test, as far as the feed and the reports go: it tells what the test publishes, by
// long poll, and keeps what is reported. The daemon's own loops do the rest.

import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newKeyPair } from '@loci/capability/jws.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import type { FeedItem, SwitchCommand } from '@loci/contract/feed.ts'
import { newId } from '@loci/contract/ids.ts'
import { type Report, reportRequest } from '@loci/contract/reports.ts'
import type { DaemonSettings } from '../settings.ts'

export type Body<Kind extends FeedItem['kind']> = Extract<FeedItem, { kind: Kind }>['body']
/** An item of the feed before it has a number. */
export type NewItem = { [Kind in FeedItem['kind']]: { kind: Kind; body: Body<Kind> } }[FeedItem['kind']]

export interface TestFeed {
  /** For a daemon that is to listen to it. */
  settings: Pick<DaemonSettings, 'managementUrl' | 'cellId' | 'cellKey'>
  publish(...published: NewItem[]): void
  /** Staff asks for a switch of a sub-service. */
  command(command: SwitchCommand): void
  /** Resolves when the daemon has applied everything that is published. */
  applied(): Promise<void>
  /**
   * The control database was restored or replaced: the feed has only what is published from now on.
   */
  restore(): void
  /** How many more pages it answers; then everything is 503. */
  pagesLeft: number
  /** Items of one page. */
  pageItemsMax: number
  /** How often it was asked while it was silent. */
  readonly unanswered: number
  /** Instances that it does not place in the cell: their rows are left out of a report. */
  unknown: Set<string>
  /** Instances whose rows it cannot read: a report that names one is 400. */
  unreadable: Set<string>
  /** What the cell has reported as erased; its numbers are places in this list, from 1. */
  ledger: (Pick<Report['deletions'][number], 'svc'> & Partial<Report['deletions'][number]>)[]
  /** While set, a page of the ledger after this number is 503. */
  ledgerEnd: number | undefined
  /** While set, every call of the cell is 401 with these details. `date` is that of the answer. */
  refusal: { details: object; date?: string } | undefined
  /** Everything that was taken, with the moment (performance.now()) at which it came. */
  reports: (Report & { at: number })[]
  /** Every report, refused ones included. */
  sent: Report[]
  [Symbol.asyncDispose](): Promise<void>
}

export async function testFeed(): Promise<TestFeed> {
  let items = new Map<string, FeedItem>()
  const commands: { seq: number; command: SwitchCommand }[] = []
  let epochs = 1
  let seq = 0
  let wake = () => {}
  let polled: { epoch: string | null; after: number } | undefined
  const unknown = new Set<string>()
  const unreadable = new Set<string>()
  const reports: TestFeed['reports'] = []
  const sent: Report[] = []
  let unanswered = 0

  async function readFeed(query: URLSearchParams): Promise<object> {
    polled = { epoch: query.get('epoch'), after: Number(query.get('after')) }
    const isFull = query.get('epoch') !== `epoch-${epochs}` || Number(query.get('after')) > seq
    const after = isFull ? 0 : Number(query.get('after'))
    const waitMs = Number(query.get('wait')) * 1_000
    if (!isFull && after >= seq && waitMs > 0) {
      await new Promise<void>((resolve) => {
        wake = resolve
        setTimeout(resolve, waitMs).unref()
      })
      query.set('wait', '0')
      return readFeed(query)
    }
    const found = [...items.values()].filter((item) => item.seq > after).sort((a, b) => a.seq - b.seq)
    feed.pagesLeft -= 1
    const page = found.slice(0, feed.pageItemsMax)
    const more = page.length < found.length
    const next = more ? page.at(-1)?.seq : seq
    const switches = commands.flatMap((one) => (one.seq > after ? [one.command] : []))
    const told = switches.length > 0 ? { switches } : {}
    return { epoch: `epoch-${epochs}`, full: isFull, next, more, ledger: feed.ledger.length, ...told, items: page }
  }

  function takeReport(report: Report): [number, object] {
    sent.push(report)
    const details = report.observed.flatMap(({ svc }, at) =>
      unreadable.has(svc) ? [{ field: `body.observed.${at}.generation`, problem: 'Too big' }] : [],
    )
    report.deletions.forEach(({ svc }, at) => {
      if (unreadable.has(svc)) details.push({ field: `body.deletions.${at}.at`, problem: 'Invalid' })
    })
    if (details.length > 0) return [400, { error: { code: 'VALIDATION_ERROR', details } }]
    const named = [...report.observed, ...report.usage, ...report.deletions].map(({ svc }) => svc)
    const refused = [...new Set(named)].filter((svc) => unknown.has(svc))
    const isTaken = ({ svc }: { svc: string }) => !unknown.has(svc)
    const { observed, usage, deletions } = report
    const taken = {
      observed: observed.filter(isTaken),
      usage: usage.filter(isTaken),
      deletions: deletions.filter(isTaken),
    }
    reports.push({ ...report, ...taken, at: performance.now() })
    // Where it has a value its number rises, as in management.
    for (const row of taken.deletions) feed.ledger.push(row)
    return [200, { accepted: true, refused, ledger: feed.ledger.length }]
  }

  function readLedger(after: number): object {
    const at = new Date().toISOString()
    const rows = feed.ledger.map((row, index) => ({ at, generation: null, ...row, seq: index + 1 }))
    const page = rows.slice(after, after + feed.pageItemsMax)
    const next = page.at(-1)?.seq ?? after
    return { deletions: page, next, more: next < rows.length, epoch: `epoch-${epochs}` }
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (feed.pagesLeft <= 0) {
      unanswered += 1
      response.writeHead(503).end()
      return
    }
    const { refusal } = feed
    if (refusal) {
      if (refusal.date) response.setHeader('date', refusal.date)
      const error = { code: 'UNAUTHENTICATED', message: 'refused', details: refusal.details }
      response.writeHead(401, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
      return
    }
    if (pathname === '/cell/v1/deletions') {
      if (feed.ledgerEnd !== undefined && Number(searchParams.get('after')) >= feed.ledgerEnd) {
        unanswered += 1
        response.writeHead(503).end()
        return
      }
      response.writeHead(200).end(JSON.stringify(readLedger(Number(searchParams.get('after')))))
      return
    }
    const [status, body] =
      pathname === '/cell/v1/feed'
        ? [200, await readFeed(searchParams)]
        : pathname === '/cell/v1/self'
          ? [
              200,
              {
                id: feed.settings.cellId,
                name: 'cell-1',
                region: 'r',
                epoch: `epoch-${epochs}`,
                instances: items.size,
              },
            ]
          : takeReport(reportRequest.parse(JSON.parse(Buffer.concat(chunks).toString('utf8'))))
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const feed: TestFeed = {
    refusal: undefined,
    ledgerEnd: undefined,
    settings: {
      managementUrl: `http://127.0.0.1:${port}`,
      cellId: newId('cell'),
      cellKey: newKeyPair().privateJwk,
    },
    publish(...published) {
      for (const one of published) {
        seq += 1
        const key = 'svc' in one.body && one.kind === 'instance' ? one.body.svc : JSON.stringify(one.body)
        items.set(`${one.kind} ${key}`, { ...one, seq, key } as FeedItem)
      }
      wake()
    },
    command(command) {
      seq += 1
      commands.push({ seq, command })
      wake()
    },
    async applied() {
      await eventually(() => polled?.epoch === `epoch-${epochs}` && polled.after === seq)
    },
    restore() {
      feed.ledger = []
      items = new Map()
      epochs += 1
      seq = commands.length
      commands.forEach((one, at) => {
        one.seq = at + 1
      })
      wake()
    },
    pagesLeft: Number.POSITIVE_INFINITY,
    pageItemsMax: Number.POSITIVE_INFINITY,
    get unanswered() {
      return unanswered
    },
    unknown,
    unreadable,
    ledger: [],
    reports,
    sent,
    async [Symbol.asyncDispose]() {
      wake()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return feed
}
