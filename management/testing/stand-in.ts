// What stands where a daemon would, for tests of the proxy: the daemon itself is another program, and answers in
// tests/system.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestManagement } from './management.ts'

export interface Heard {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

/** Notes what it is asked, and answers as the test says. */
export async function startCell(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const heard: Heard[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = request
    heard.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    answer(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    heard,
    endpoint: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** A service of a new organization, in a cell at that address. */
export async function addService(management: TestManagement, email: string, endpoint: string) {
  const party = await management.organization({ email })
  const { id: cellId } = await management.cell()
  await management.sql('update loci.cells set endpoint = $2 where id = $1', [cellId, endpoint])
  const { id } = await management.instance(cellId, { organization: party.organizationId, tenant: party.tenantId })
  return { ...party, serviceId: id, proxy: `/api/v1/services/${id}/proxy` }
}

export const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] as string, 'base64url').toString()) as Record<string, unknown>
