import { openEventStream, type TestStream } from '@loci/chassis/testing/event-stream.ts'
import { eventually } from '@loci/chassis/testing/request.ts'
import { HEADER } from '@loci/contract/headers.ts'

export interface EventData {
  seq: number
  type: string
  at: string
  database: string
  domain: string
  data: Record<string, unknown>
}

/** Once the replica knows the instance and its key. */
export async function openEvents(
  at: { url: string },
  token: string,
  headers: Record<string, string> = {},
): Promise<TestStream<EventData>> {
  return eventually(async () => {
    const stream = await tryEvents(at, token, headers)
    return stream.status === 200 && stream
  })
}

export function tryEvents(
  { url }: { url: string },
  token: string,
  headers: Record<string, string> = {},
): Promise<TestStream<EventData>> {
  return openEventStream(`${url}/v1/events`, { [HEADER.capability]: token, ...headers })
}
