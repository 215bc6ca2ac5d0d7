import { openEventStream, type Sent, type TestStream } from '@loci/chassis/testing/event-stream.ts'
import { HEADER } from '@loci/contract/headers.ts'

interface Data {
  id: string
  seq: number
  type: string
  subject: string
  data: Record<string, unknown>
}

interface ManagementStream extends TestStream<Data> {
  /** Resolves with the event of that subject. */
  subject(subject: string, withinMs?: number): Promise<Sent<Data>>
}

export async function openEvents(
  url: string,
  apiKey: string,
  headers: Record<string, string> = {},
): Promise<ManagementStream> {
  const stream = await openEventStream<Data>(`${url}/api/v1/events`, { [HEADER.apiKey]: apiKey, ...headers })
  const subject = (wanted: string, withinMs?: number) => stream.until(({ data }) => data.subject === wanted, withinMs)
  return Object.assign(stream, { subject })
}
