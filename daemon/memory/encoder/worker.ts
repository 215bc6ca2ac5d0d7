// The encoder's thread: checks the folder, loads the model, then answers one text at a time.

import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { checkFolder, type EncoderFacts } from './folder.ts'
import { openModel } from './model.ts'

export type FromEncoder =
  | { facts: EncoderFacts }
  | { failed: string }
  | { id: number; vector: Int8Array }
  | { id: number; failed: string }

export interface ToEncoder {
  id: number
  text: string
}

/**
 * Where no core is free, storing and searching go before encoding. On Linux the call is about this thread alone,
 * elsewhere about the process. No more than this: questions are encoded here too.
 */
const NICE = 5

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? ''

if (parentPort !== null) {
  const port = parentPort
  const send = (message: FromEncoder) => port.postMessage(message)
  try {
    const { folder } = workerData as { folder: string }
    if (process.platform === 'linux') setPriority(NICE)
    const facts = checkFolder(folder)
    const model = await openModel(folder, facts.dimensions)
    port.on('message', ({ id, text }: ToEncoder) => {
      model.encode(text).then(
        (vector) => send({ id, vector }),
        (error) => send({ id, failed: messageOf(error) }),
      )
    })
    send({ facts })
  } catch (error) {
    send({ failed: messageOf(error) })
  }
}
